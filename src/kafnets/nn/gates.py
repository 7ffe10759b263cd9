"""Gates of recurrent networks whose sigmoid is preceded by a KAF, and cells that have them."""

import copy
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.modules.module import _has_any_global_hook

from kafnets.nn.activation import leaf_of_trace
from kafnets.nn.kaf import KAF, KAFOptions
from kafnets.ops.dispatch import needs_plain_formula, runner_of
from kafnets.ops.recurrence import Plan, composed, recorded
from kafnets.ops.recurrent_steps import GRU, LSTM, Kind, State, Weights
from kafnets.starts import Normal


def kaf_of_gates(kind: Kind, hidden_size: int, options: KAFOptions, device: Any, dtype: Any) -> KAF:
    """The KAFs of one cell, for all its gates at once. By default, coefficients are initialized to 0."""
    if strange := options.keys() - KAFOptions.__annotations__.keys():
        raise TypeError(
            f"{', '.join(sorted(strange))} is not an option of gates: the options are "
            f"{', '.join(KAFOptions.__annotations__)}"
        )
    chosen: Any = {"init": Normal(0.0), **options}
    return KAF(kind.gates * hidden_size, **chosen, device=device, dtype=dtype)


def run(plan: Plan, kaf: KAF, weights: Weights, rows: Tensor, first: State) -> tuple[Tensor, State]:
    """A loop over time: as one node of the graph, unless somebody watches its KAFs or looks inside."""
    # Neither what only looks like a KAF, nor one with parametrized coefficients.
    usual = type(kaf) is KAF and not kaf._shares and weights.weight_hr is None
    if usual and not torch.compiler.is_compiling() and not _is_watched(kaf):
        table = kaf.table()
        given = (rows, *first, *(each for each in weights if each is not None))
        if all(each.dtype is table.dtype for each in given) and not (
            needs_plain_formula(*given) or torch.is_autocast_enabled(rows.device.type)
        ):
            runner = runner_of(kaf._formula, rows, table)
            if runner is not None:
                return recorded(plan, kaf._formula, runner, table, weights, rows, first)
    return composed(plan, kaf, weights, rows, first)


def _is_watched(module: nn.Module) -> bool:
    """Whether there are hooks, which a call of the module would run."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or _has_any_global_hook()
    )


class WithGates(nn.Module):
    """Base class of cells and layers: KAFs are reset with the weights, and when torch's are loaded."""

    kind: ClassVar[Kind]

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

    gates: KAF

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
        self.gates = kaf_of_gates(self.kind, hidden_size, gates, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if isinstance(input, Proxy):
            return leaf_of_trace(self, input, hx)
        if input.dim() not in (1, 2) or input.shape[-1] != self.input_size:
            raise ValueError(
                f"input must have the shape ({self.input_size},) or (batch, {self.input_size}), "
                f"got {tuple(input.shape)}"
            )
        single = input.dim() == 1
        rows = input.unsqueeze(0) if single else input
        if hx is None:
            state: State = (rows.new_zeros(len(rows), self.hidden_size),) * self.kind.states
        else:
            state = (hx,) if isinstance(hx, Tensor) else tuple(hx)
            shape = (*input.shape[:-1], self.hidden_size)
            if len(state) != self.kind.states or any(each.shape != shape for each in state):
                got = ", ".join(str(tuple(each.shape)) for each in state)
                raise ValueError(f"hx must hold {self.kind.states} of the shape {shape}, got {got}")
            if single:
                state = tuple(each.unsqueeze(0) for each in state)
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        state = run(Plan(self.kind, [len(rows)]), self.gates, weights, rows, state)[1]
        if single:
            state = tuple(each.squeeze(0) for each in state)
        return state if len(state) > 1 else state[0]


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

    kind = LSTM


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

    kind = GRU
