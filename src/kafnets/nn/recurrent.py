"""LSTM and GRU layers with flexible gates and the interface of torch's layers."""

from typing import Any, Unpack

import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.functional import dropout
from torch.nn.utils.rnn import PackedSequence

from kafnets.nn.activation import leaf_of_trace
from kafnets.nn.gates import WithGates, kaf_of_gates, run
from kafnets.nn.kaf import KAF, KAFOptions
from kafnets.ops import recurrent_steps
from kafnets.ops.recurrence import Plan
from kafnets.ops.recurrent_steps import State, Weights


class _Layers(WithGates, nn.RNNBase):
    """The loop over time. Every direction of every layer has KAFs of its own, ``gates_l0`` and so on.

    Torch's compiler refuses subclasses of ``nn.LSTM`` and ``nn.GRU``, but not of what these stand on.
    """

    def _add_gates(self, options: KAFOptions, device: Any, dtype: Any) -> None:
        for suffix in self._suffixes():
            kaf = kaf_of_gates(self.kind, self.hidden_size, options, device, dtype)
            self.add_module(f"gates{suffix}", kaf)

    def _suffixes(self) -> list[str]:
        """Of the names of parameters, as torch has them."""
        directions = ("", "_reverse")[: 1 + self.bidirectional]
        return [f"_l{layer}{direction}" for layer in range(self.num_layers) for direction in directions]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, Proxy):
            return leaf_of_trace(self, input, hx)
        data, sizes = self._rows(input)
        order = input.sorted_indices if isinstance(input, PackedSequence) else None
        single = isinstance(input, Tensor) and input.dim() == 2
        state = self._first(data, sizes[0], hx, single, order)
        self.check_input(data, sizes)  # type: ignore[arg-type]
        data, state = self._run_layers(data, sizes, state)
        if isinstance(input, PackedSequence):
            back = input.unsorted_indices
            state = state if back is None else tuple(each.index_select(1, back) for each in state)
            output: Any = PackedSequence(data, input.batch_sizes, order, back)
        else:
            output = data.unflatten(0, (len(sizes), sizes[0]))
            output = output.transpose(0, 1) if self.batch_first else output
        if single:
            output = output.flatten(0, 1)
            state = tuple(each.squeeze(1) for each in state)
        return output, (state if self.kind.states > 1 else state[0])

    def _rows(self, input: Any) -> tuple[Tensor, list[int]]:
        """All steps of all sequences, in order of time, and how many sequences each step has."""
        if isinstance(input, PackedSequence):
            return input.data, input.batch_sizes.tolist()
        if input.dim() not in (2, 3):
            raise ValueError(
                f"input must have two axes, or three with the one over sequences, got {tuple(input.shape)}"
            )
        if input.dim() == 2:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        if not len(input):
            raise ValueError(f"input must have one step or more, got shape {tuple(input.shape)}")
        return input.flatten(0, 1), [input.shape[1]] * len(input)

    def _first(self, data: Tensor, batch: int, hx: Any, single: bool, order: Tensor | None) -> State:
        layers = self.num_layers * (1 + self.bidirectional)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: self.kind.states]
        if hx is None:
            return tuple(data.new_zeros(layers, batch, width) for width in widths)
        state: State = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        wanted = [(layers, width) if single else (layers, batch, width) for width in widths]
        if [tuple(each.shape) for each in state] != wanted:
            raise ValueError(
                f"hx must have the shape {' and '.join(map(str, wanted))}, "
                f"got {' and '.join(str(tuple(each.shape)) for each in state)}"
            )
        if single:
            state = tuple(each.unsqueeze(1) for each in state)
        return state if order is None else tuple(each.index_select(1, order) for each in state)

    def _run_layers(self, data: Tensor, sizes: list[int], state: State) -> tuple[Tensor, State]:
        suffixes, directions, last = self._suffixes(), 1 + self.bidirectional, []
        for layer in range(self.num_layers):
            outputs = []
            for number in range(layer * directions, (layer + 1) * directions):
                plan = Plan(self.kind, sizes, backwards=suffixes[number].endswith("_reverse"))
                first = tuple(each[number] for each in state)
                kaf, weights = self._own(suffixes[number])
                output, final = run(plan, kaf, weights, data, first)
                outputs.append(output)
                last.append(final)
            data = torch.cat(outputs, 1) if self.bidirectional else outputs[0]
            if self.dropout and layer + 1 < self.num_layers:
                data = dropout(data, self.dropout, self.training)
        return data, tuple(torch.stack(each) for each in zip(*last, strict=True))

    def _own(self, suffix: str) -> tuple[KAF, Weights]:
        """The KAFs and weights of one direction of a layer."""
        kaf: Any = getattr(self, "gates" + suffix)
        return kaf, Weights(*(getattr(self, name + suffix, None) for name in Weights._fields))  # type: ignore[arg-type]


class LSTM(_Layers):
    r"""``nn.LSTM`` whose gates learn their functions.

    An input, forget or output gate is, for each neuron,

    .. math:: \sigma(\tfrac12 g(s) + \tfrac12 s), \qquad g(s) = s + \sum_i \alpha_i \kappa(s, d_i),

    with its own KAF g, initialized as the identity: with :math:`\alpha = 0`, all gates are torch's. The
    gates of one step are computed in one call, and the inputs of all steps are projected before the loop.

    >>> lstm = kafnets.nn.LSTM(4, 8, num_layers=2, batch_first=True)
    >>> output, (hidden, cell) = lstm(torch.randn(5, 7, 4))
    >>> output.shape, hidden.shape
    (torch.Size([5, 7, 8]), torch.Size([2, 5, 8]))

    The state dict of an ``nn.LSTM`` can be loaded; the gates are then reset, so that the function is the
    same:

    >>> lstm.load_state_dict(nn.LSTM(4, 8, num_layers=2).state_dict())
    <All keys matched successfully>

    Source: Scardapane, Van Vaerenbergh, Comminiello, Totaro, Uncini, Recurrent neural networks with flexible
    gates using kernel activation functions, 2018.

    Args:
        input_size: as for ``nn.LSTM``; the same applies to all arguments not listed here, to inputs
            (including packed sequences), states and outputs.
        gates: ``dictionary_size``, ``boundary``, ``kernel``, ``tails``, ``dictionary``, ``init`` and
            ``groups`` as for :class:`kafnets.KAF`. ``groups=3`` is one function per gate, for all neurons.

    Attributes:
        gates_l0: the KAFs of the first layer, of 3 * hidden_size channels: input, forget and output gates;
            ``gates_l0_reverse``, ``gates_l1`` and so on if there are more.
    """

    kind = recurrent_steps.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
        **gates: Unpack[KAFOptions],
    ) -> None:
        sizes = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)
        super().__init__("LSTM", *sizes, device=device, dtype=dtype)
        self._add_gates(gates, device, dtype)


class GRU(_Layers):
    r"""``nn.GRU`` whose reset and update gates learn their functions: see :class:`kafnets.nn.LSTM`.

    >>> output, hidden = kafnets.nn.GRU(4, 8, bidirectional=True, dictionary_size=10)(torch.randn(7, 5, 4))
    >>> output.shape, hidden.shape
    (torch.Size([7, 5, 16]), torch.Size([2, 5, 8]))

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as for
            ``nn.GRU``; the same applies to inputs (including packed sequences), states and outputs.
        gates: as for :class:`LSTM`; ``groups=2`` is one function per gate, for all neurons.

    Attributes:
        gates_l0: the KAFs of the first layer, of 2 * hidden_size channels: reset and update gates.
    """

    kind = recurrent_steps.GRU

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **gates: Unpack[KAFOptions],
    ) -> None:
        sizes = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", *sizes, device=device, dtype=dtype)
        self._add_gates(gates, device, dtype)
