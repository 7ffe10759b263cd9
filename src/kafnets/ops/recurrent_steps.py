"""Steps of LSTM and GRU with learned gates: in torch's operators, and with gradients in closed form."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from kafnets.ops.backends import Runner
from kafnets.ops.formula import Formula

Function = Callable[[Tensor], Tensor]
State = tuple[Tensor, ...]
Step = Sequence[Tensor]
"""What the backward pass needs of a step; the last ones are the states before it."""
_by_sigmoid: Callable[..., Tensor] = torch.ops.aten.sigmoid_backward.default
_by_tanh: Callable[..., Tensor] = torch.ops.aten.tanh_backward.default


def _opened(function: Function, s: Tensor) -> Tensor:
    return torch.add(s, function(s), alpha=0.5).sigmoid_()


class Gates:
    """The gates of one loop, which collect the gradients by their coefficients."""

    def __init__(self, formula: Formula, runner: Runner, table: Tensor, wanted: bool = False) -> None:
        self.formula, self.runner, self.table, self.wanted = formula, runner, table, wanted
        self._by_table: Tensor | None = None

    @property
    def by_table(self) -> Tensor | None:
        """What was collected; None if it is not wanted."""
        return None if self._by_table is None else 0.5 * self._by_table

    def open(self, s: Tensor) -> Tensor:
        """The gates' values."""
        return torch.add(s, self.runner.forward(self.formula, s, self.table, 1), alpha=0.5).sigmoid_()

    def backward(self, s: Tensor, opened: Tensor, by_gates: Tensor) -> Tensor:
        """The gradients by activations, from those by gates."""
        inner = _by_sigmoid(by_gates, opened)
        by_s, by_table = self.runner.backward(self.formula, inner, s, self.table, 1, (True, self.wanted))
        assert by_s is not None
        if by_table is not None:
            self._by_table = by_table if self._by_table is None else self._by_table.add_(by_table)
        return inner.add_(by_s, alpha=0.5)


class Weights(NamedTuple):
    """Those of a cell, or of one direction of a layer, under torch's names."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None = None
    bias_hh: Tensor | None = None
    weight_hr: Tensor | None = None
    """Of an LSTM that projects its hidden states."""


class LSTM:
    """Blocks of activations are i, f, g, o; gates are i, f, o; a state is hidden and cell state."""

    gates, states = 3, 2

    @staticmethod
    def projected(weights: Weights, rows: Tensor) -> Tensor:
        """What inputs contribute to activations, with all biases."""
        bias_ih, bias_hh = weights.bias_ih, weights.bias_hh
        bias = None if bias_ih is None or bias_hh is None else bias_ih + bias_hh
        return linear(rows, weights.weight_ih, bias)

    @staticmethod
    def composed(function: Function, weights: Weights, projected: Tensor, state: State) -> State:
        """One step in torch's operators."""
        hidden, cell = state
        i, f, g, o = torch.addmm(projected, hidden, weights.weight_hh.t()).chunk(4, 1)
        # One call for the three gates.
        i, f, o = _opened(function, torch.cat([i, f, o], 1)).chunk(3, 1)
        cell = torch.addcmul(f * cell, i, g.tanh())
        hidden = o * cell.tanh()
        return (hidden if weights.weight_hr is None else linear(hidden, weights.weight_hr)), cell

    @staticmethod
    def forward(gates: Gates, weights: Weights, projected: Tensor, state: State) -> tuple[State, Step]:
        """The same, and what the backward pass needs."""
        i, f, g, o = torch.addmm(projected, state[0], weights.weight_hh.t()).chunk(4, 1)
        s = torch.cat([i, f, o], 1)
        opened, g = gates.open(s), g.tanh()
        i, f, o = opened.chunk(3, 1)
        cell = torch.addcmul(f * state[1], i, g)
        shown = cell.tanh()
        return (o * shown, cell), (s, opened, g, shown, *state)

    @staticmethod
    def backward(gates: Gates, weights: Weights, kept: Step, by_state: State) -> tuple[Tensor, Tensor, State]:
        """By what input and hidden state contribute, and by the state before."""
        s, opened, g, shown, _, cell = kept
        by_hidden, by_after = by_state
        i, f, o = opened.chunk(3, 1)
        by_cell = _by_tanh(by_hidden * o, shown).add_(by_after)
        by_gates = torch.cat([by_cell * g, by_cell * cell, by_hidden * shown], 1)
        by_i, by_f, by_o = gates.backward(s, opened, by_gates).chunk(3, 1)
        by_sums = torch.cat([by_i, by_f, _by_tanh(by_cell * i, g), by_o], 1)
        return by_sums, by_sums, (by_sums @ weights.weight_hh, by_cell.mul_(f))


class GRU:
    """Blocks of activations are r, z, n; gates are r and z; a state is the hidden state."""

    gates, states = 2, 1

    @staticmethod
    def projected(weights: Weights, rows: Tensor) -> Tensor:
        """What inputs contribute to activations. The other bias belongs to what r meets."""
        return linear(rows, weights.weight_ih, weights.bias_ih)

    @staticmethod
    def composed(function: Function, weights: Weights, projected: Tensor, state: State) -> State:
        """One step in torch's operators."""
        (hidden,) = state
        sizes = [2 * hidden.shape[1], hidden.shape[1]]
        recurrent, recurrent_n = linear(hidden, weights.weight_hh, weights.bias_hh).split(sizes, 1)
        given, given_n = projected.split(sizes, 1)
        r, z = _opened(function, given + recurrent).chunk(2, 1)
        n = torch.addcmul(given_n, r, recurrent_n).tanh()
        return (torch.addcmul(n, z, hidden - n),)

    @staticmethod
    def forward(gates: Gates, weights: Weights, projected: Tensor, state: State) -> tuple[State, Step]:
        """The same, and what the backward pass needs."""
        (hidden,) = state
        sizes = [2 * hidden.shape[1], hidden.shape[1]]
        recurrent, recurrent_n = linear(hidden, weights.weight_hh, weights.bias_hh).split(sizes, 1)
        given, given_n = projected.split(sizes, 1)
        s = given + recurrent
        opened = gates.open(s)
        r, z = opened.chunk(2, 1)
        n = torch.addcmul(given_n, r, recurrent_n).tanh_()
        return (torch.addcmul(n, z, hidden - n),), (s, opened, n, recurrent_n, hidden)

    @staticmethod
    def backward(gates: Gates, weights: Weights, kept: Step, by_state: State) -> tuple[Tensor, Tensor, State]:
        """By what input and hidden state contribute, and by the state before."""
        s, opened, n, recurrent_n, hidden = kept
        r, z = opened.chunk(2, 1)
        passed = by_state[0] * z
        by_n = _by_tanh(by_state[0] - passed, n)
        by_gates = torch.cat([by_n * recurrent_n, by_state[0] * (hidden - n)], 1)
        by_s = gates.backward(s, opened, by_gates)
        by_recurrent = torch.cat([by_s, by_n * r], 1)
        return torch.cat([by_s, by_n], 1), by_recurrent, (passed.addmm_(by_recurrent, weights.weight_hh),)


Kind = type[LSTM] | type[GRU]
