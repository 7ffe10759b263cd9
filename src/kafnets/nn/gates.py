"""Gates of recurrent networks whose sigmoid is preceded by a KAF, and cells that have them."""

import copy
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.functional import linear

from kafnets.nn.activation import leaf_of_trace
from kafnets.nn.kaf import KAF, KAFOptions
from kafnets.starts import Normal

State = tuple[Tensor, ...]


def kaf_of_gates(channels: int, options: KAFOptions, device: Any, dtype: Any) -> KAF:
    """The KAFs of one cell, for all its gates at once. By default, coefficients are initialized to 0."""
    if strange := options.keys() - KAFOptions.__annotations__.keys():
        raise TypeError(
            f"{', '.join(sorted(strange))} is not an option of gates: the options are "
            f"{', '.join(KAFOptions.__annotations__)}"
        )
    chosen: Any = {"init": Normal(0.0), **options}
    return KAF(channels, **chosen, device=device, dtype=dtype)


def gate(kaf: KAF, s: Tensor) -> Tensor:
    r""":math:`\sigma(s + \frac12 \sum_i \alpha_i \kappa(s, d_i))`."""
    return torch.add(s, kaf(s), alpha=0.5).sigmoid_()


def lstm_step(
    kaf: KAF, transposed_hh: Tensor, weight_hr: Tensor | None, projected: Tensor, state: State
) -> State:
    """One step, from the projected input with all biases in it. The block of gates is i, f, o."""
    hidden, cell = state
    i, f, g, o = torch.addmm(projected, hidden, transposed_hh).chunk(4, 1)
    # One call for the three gates: at small batches the number of calls is what counts.
    i, f, o = gate(kaf, torch.cat([i, f, o], 1)).chunk(3, 1)
    cell = torch.addcmul(f * cell, i, g.tanh())
    hidden = o * cell.tanh()
    return (hidden if weight_hr is None else linear(hidden, weight_hr)), cell


def gru_step(kaf: KAF, weight_hh: Tensor, bias_hh: Tensor | None, projected: Tensor, state: State) -> State:
    """One step, from the projected input. The block of gates is r, z."""
    (hidden,) = state
    sizes = [2 * hidden.shape[1], hidden.shape[1]]
    recurrent, candidate = linear(hidden, weight_hh, bias_hh).split(sizes, 1)
    given, given_candidate = projected.split(sizes, 1)
    r, z = gate(kaf, given + recurrent).chunk(2, 1)
    n = torch.addcmul(given_candidate, r, candidate).tanh()
    return (torch.addcmul(n, z, hidden - n),)


class WithGates(nn.Module):
    """Base class of cells and layers: KAFs are reset with the weights, and when torch's are loaded."""

    gate_count: ClassVar[int]
    """Gates per neuron."""

    def _kafs(self) -> list[tuple[str, KAF]]:
        return [(name, child) for name, child in self.named_children() if isinstance(child, KAF)]

    def reset_parameters(self) -> None:
        """Reset weights as torch does, and gates by their ``init``."""
        super().reset_parameters()  # type: ignore[misc]
        for _, kaf in self._kafs():  # none yet while torch's constructor calls
            kaf.reset_parameters()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        if any(key.startswith(prefix + "weight_ih") for key in state_dict):
            for name, kaf in self._kafs():
                if not any(key.startswith(f"{prefix}{name}.") for key in state_dict):
                    # The state of torch's own layer: its gates are the ones that ours start as.
                    first = copy.deepcopy(kaf)
                    first.reset_parameters()
                    state_dict.update(first.state_dict(prefix=f"{prefix}{name}."))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class _Cell(WithGates, nn.RNNCellBase):
    """One step of a single sequence or of a batch; subclasses also derive from torch's cell."""

    states: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        **gates: Unpack[KAFOptions],
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.gates = kaf_of_gates(self.gate_count * hidden_size, gates, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if isinstance(input, Proxy):
            return leaf_of_trace(self, input, hx)
        if input.dim() not in (1, 2) or input.shape[-1] != self.input_size:
            raise ValueError(
                f"input must have the shape ({self.input_size},) or (batch, {self.input_size}), "
                f"got {tuple(input.shape)}"
            )
        rows, single = input.reshape(-1, self.input_size), input.dim() == 1
        if hx is None:
            state: State = (rows.new_zeros(len(rows), self.hidden_size),) * self.states
        else:
            state = (hx,) if isinstance(hx, Tensor) else tuple(hx)
            shape = (*input.shape[:-1], self.hidden_size)
            if len(state) != self.states or any(each.shape != shape for each in state):
                got = ", ".join(str(tuple(each.shape)) for each in state)
                raise ValueError(f"hx must hold {self.states} of the shape {shape}, got {got}")
            state = tuple(each.reshape(-1, self.hidden_size) for each in state)
        state = self._step(rows, state)
        if single:
            state = tuple(each.squeeze(0) for each in state)
        return state if len(state) > 1 else state[0]

    def _step(self, rows: Tensor, state: State) -> State:
        raise NotImplementedError


class LSTMCell(_Cell, nn.LSTMCell):
    r"""``nn.LSTMCell`` whose three gates are :math:`\sigma(\frac12 g(s) + \frac12 s)` with KAFs g.

    Each gate of each neuron learns its own g, which is initialized as the identity: see
    :class:`kafnets.nn.LSTM`.

    >>> cell = kafnets.nn.LSTMCell(4, 8)
    >>> hidden, state = cell(torch.randn(5, 4))
    >>> hidden.shape
    torch.Size([5, 8])

    Args:
        input_size, hidden_size, bias, device, dtype: as for ``nn.LSTMCell``.
        gates: ``dictionary_size``, ``boundary``, ``kernel``, ``tails``, ``dictionary``, ``init`` and
            ``groups`` as for :class:`kafnets.KAF`. ``groups=3`` is one function per gate, for all neurons.

    Attributes:
        gates: the KAFs, of 3 * hidden_size channels: input, forget and output gates.
    """

    gate_count, states = 3, 2

    def _step(self, rows: Tensor, state: State) -> State:
        bias = self.bias_ih + self.bias_hh if self.bias else None
        return lstm_step(self.gates, self.weight_hh.t(), None, linear(rows, self.weight_ih, bias), state)


class GRUCell(_Cell, nn.GRUCell):
    r"""``nn.GRUCell`` whose two gates are :math:`\sigma(\frac12 g(s) + \frac12 s)` with KAFs g.

    >>> kafnets.nn.GRUCell(4, 8)(torch.randn(5, 4)).shape
    torch.Size([5, 8])

    Args:
        input_size, hidden_size, bias, device, dtype: as for ``nn.GRUCell``.
        gates: as for :class:`LSTMCell`; ``groups=2`` is one function per gate, for all neurons.

    Attributes:
        gates: the KAFs, of 2 * hidden_size channels: reset and update gates.
    """

    gate_count, states = 2, 1

    def _step(self, rows: Tensor, state: State) -> State:
        projected = linear(rows, self.weight_ih, self.bias_ih)
        return gru_step(self.gates, self.weight_hh, self.bias_hh, projected, state)
