"""LSTM and GRU with flexible gates, over time, with their closed-form gradients.

Weights are torch's, one layer in one direction: rows of ``weight_ih``, ``weight_hh`` and of biases are the
input, forget, candidate and output blocks of an LSTM, or the reset, update and candidate blocks of a GRU. The
rows of ``alpha`` are the gates alone, in that order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracle.activations import sigmoid
from tests.oracle.expansions import kaf, kaf_gradients
from tests.oracle.kernels import Kernel

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """What is learned, or the derivatives by it."""

    weight_ih: Array
    weight_hh: Array
    bias_ih: Array
    bias_hh: Array
    alpha: Array


class Gate(NamedTuple):
    """What is fixed about the KAFs of gates."""

    dictionary: Array
    kernel: Kernel

    def value(self, s: Array, alpha: Array) -> Array:
        """sigma(g(s) / 2 + s / 2), where g(s) = s + sum_i alpha_i kappa(s, d_i)."""
        g = s + kaf(s, alpha, self.dictionary, self.kernel)
        return sigmoid(g / 2 + s / 2)

    def gradients(self, s: Array, alpha: Array, upstream: Array) -> tuple[Array, Array]:
        """By s and by alpha."""
        value = self.value(s, alpha)
        inner = upstream * value * (1 - value)
        found = kaf_gradients(s, alpha, self.dictionary, self.kernel, inner / 2)
        return inner + found.s, found.alpha


def lstm(x: Array, h: Array, c: Array, w: Weights, gate: Gate) -> tuple[Array, Array, Array]:
    """``x`` is ``(T, B, I)``, states are ``(B, H)``. Returns all hidden states, and the last cell state."""
    outputs = []
    for step in x:
        h, c = _lstm_step(step, h, c, w, gate)
        outputs.append(h)
    return np.stack(outputs), h, c


def _lstm_blocks(x: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """The three gates' activations side by side, and the candidate's."""
    s = x @ w.weight_ih.T + w.bias_ih + h @ w.weight_hh.T + w.bias_hh
    i, f, g, o = np.split(s, 4, axis=1)
    return np.concatenate([i, f, o], 1), g


def _lstm_step(x: Array, h: Array, c: Array, w: Weights, gate: Gate) -> tuple[Array, Array]:
    s, g = _lstm_blocks(x, h, w)
    i, f, o = np.split(gate.value(s, w.alpha), 3, axis=1)
    c = f * c + i * np.tanh(g)
    return o * np.tanh(c), c


def lstm_gradients(
    x: Array, h: Array, c: Array, w: Weights, gate: Gate, upstream: Array
) -> tuple[Array, Array, Array, Weights]:
    """Of ``sum(upstream * outputs)``, by x, first states and weights: backpropagation through time."""
    states = [(h, c)]
    for step in x:
        states.append(_lstm_step(step, *states[-1], w, gate))
    by_w, by_x = Weights(*map(np.zeros_like, w)), np.zeros_like(x)
    by_h, by_c = np.zeros_like(h), np.zeros_like(c)
    for t in reversed(range(len(x))):
        (h, c), after = states[t], np.tanh(states[t + 1][1])
        s, g = _lstm_blocks(x[t], h, w)
        i, f, o = np.split(gate.value(s, w.alpha), 3, axis=1)
        by_h = by_h + upstream[t]
        by_c = by_c + by_h * o * (1 - after**2)
        by_gates = np.concatenate([by_c * np.tanh(g), by_c * c, by_h * after], 1)
        by_s, by_alpha = gate.gradients(s, w.alpha, by_gates)
        by_i, by_f, by_o = np.split(by_s, 3, axis=1)
        by_s = np.concatenate([by_i, by_f, by_c * i * (1 - np.tanh(g) ** 2), by_o], 1)
        by_x[t], by_h, by_c = by_s @ w.weight_ih, by_s @ w.weight_hh, by_c * f
        _add(by_w, x[t], h, by_s, by_s, by_alpha)
    return by_x, by_h, by_c, by_w


def gru(x: Array, h: Array, w: Weights, gate: Gate) -> tuple[Array, Array]:
    """As :func:`lstm`; all hidden states, and the last one."""
    outputs = []
    for step in x:
        s, own, recurrent = _gru_blocks(step, h, w)
        r, z = np.split(gate.value(s, w.alpha), 2, axis=1)
        n = np.tanh(own + r * recurrent)
        h = (1 - z) * n + z * h
        outputs.append(h)
    return np.stack(outputs), h


def _gru_blocks(x: Array, h: Array, w: Weights) -> tuple[Array, Array, Array]:
    """The two gates' activations side by side, and the two parts of the candidate's."""
    given, recurrent = x @ w.weight_ih.T + w.bias_ih, h @ w.weight_hh.T + w.bias_hh
    gates = 2 * h.shape[1]
    return given[:, :gates] + recurrent[:, :gates], given[:, gates:], recurrent[:, gates:]


def gru_gradients(
    x: Array, h: Array, w: Weights, gate: Gate, upstream: Array
) -> tuple[Array, Array, Weights]:
    """As :func:`lstm_gradients`."""
    states = [h, *gru(x, h, w, gate)[0]]
    by_w, by_x, by_h = Weights(*map(np.zeros_like, w)), np.zeros_like(x), np.zeros_like(h)
    for t in reversed(range(len(x))):
        h = states[t]
        s, own, recurrent = _gru_blocks(x[t], h, w)
        r, z = np.split(gate.value(s, w.alpha), 2, axis=1)
        n = np.tanh(own + r * recurrent)
        by_h = by_h + upstream[t]
        by_n = by_h * (1 - z) * (1 - n**2)
        by_gates = np.concatenate([by_n * recurrent, by_h * (h - n)], 1)
        by_s, by_alpha = gate.gradients(s, w.alpha, by_gates)
        by_given = np.concatenate([by_s, by_n], 1)
        by_recurrent = np.concatenate([by_s, by_n * r], 1)
        by_x[t], by_h = by_given @ w.weight_ih, by_h * z + by_recurrent @ w.weight_hh
        _add(by_w, x[t], h, by_given, by_recurrent, by_alpha)
    return by_x, by_h, by_w


def _add(by_w: Weights, x: Array, h: Array, by_given: Array, by_recurrent: Array, by_alpha: Array) -> None:
    """What one step adds to the derivatives by weights."""
    by_w.weight_ih[:] += by_given.T @ x
    by_w.weight_hh[:] += by_recurrent.T @ h
    by_w.bias_ih[:] += by_given.sum(0)
    by_w.bias_hh[:] += by_recurrent.sum(0)
    by_w.alpha[:] += by_alpha
