r"""Loops over time with gates :math:`\sigma(s + \frac12 g(s))`, of learned functions g.

In such a loop the number of operations counts, more than their size. So the whole loop is one node of the
graph, with backpropagation through time written out, wherever a runner gives values and gradients of g.
Elsewhere it is composed of torch's operators around g.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from kafnets.ops.backends import Runner
from kafnets.ops.dispatch import apply
from kafnets.ops.formula import Formula
from kafnets.ops.plain import apart
from kafnets.ops.recorded import is_batched

Function = Callable[[Tensor], Tensor]
State = tuple[Tensor, ...]
Step = Sequence[Tensor]
_by_sigmoid: Callable[..., Tensor] = torch.ops.aten.sigmoid_backward.default
_by_tanh: Callable[..., Tensor] = torch.ops.aten.tanh_backward.default


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
    def forward(gates: "_Gates", weights: Weights, projected: Tensor, state: State) -> tuple[State, Step]:
        """The same, and what the backward pass needs."""
        i, f, g, o = torch.addmm(projected, state[0], weights.weight_hh.t()).chunk(4, 1)
        s = torch.cat([i, f, o], 1)
        opened, g = gates.open(s), g.tanh()
        i, f, o = opened.chunk(3, 1)
        cell = torch.addcmul(f * state[1], i, g)
        shown = cell.tanh()
        return (o * shown, cell), (s, opened, g, shown, *state)

    @staticmethod
    def backward(
        gates: "_Gates", weights: Weights, kept: Step, by_state: State
    ) -> tuple[Tensor, Tensor, State]:
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
    def forward(gates: "_Gates", weights: Weights, projected: Tensor, state: State) -> tuple[State, Step]:
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
    def backward(
        gates: "_Gates", weights: Weights, kept: Step, by_state: State
    ) -> tuple[Tensor, Tensor, State]:
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


class Plan(NamedTuple):
    """What a loop is, beside its tensors."""

    kind: Kind
    sizes: list[int]
    """Sequences of each step, sorted by length: those that have ended, or not begun, are the last."""
    backwards: bool = False

    @property
    def order(self) -> range:
        """The steps as they are done."""
        count = len(self.sizes)
        return range(count - 1, -1, -1) if self.backwards else range(count)

    def parts(self, rows: Tensor) -> Sequence[Tensor]:
        """The rows of each step."""
        return [rows] if len(self.sizes) == 1 else rows.split(self.sizes)


def composed(
    plan: Plan, function: Function, weights: Weights, rows: Tensor, first: State
) -> tuple[Tensor, State]:
    """Hidden states of all steps one after the other, and the last states, in torch's operators.

    Args:
        plan: the loop.
        function: the g of all gates, of ``(B, gates * H)``.
        weights: all but those of g.
        rows: inputs of all steps one after the other.
        first: the states before.
    """
    parts = plan.parts(plan.kind.projected(weights, rows))
    outputs: list[Tensor] = [rows] * len(parts)

    def step(number: int, state: State) -> State:
        after = plan.kind.composed(function, weights, parts[number], state)
        outputs[number] = after[0]
        return after

    last = _loop(plan, first, step)
    return _joined(outputs), last


def recorded(
    plan: Plan, formula: Formula, runner: Runner, table: Tensor, weights: Weights, rows: Tensor, first: State
) -> tuple[Tensor, State]:
    """The same, where g is a formula: one node of the graph. For weights without projection."""
    found = _record(plan, formula, runner, rows, table, *weights[:4], *first)
    return found[0], found[-len(first) :]


def _loop(plan: Plan, first: State, step: Callable[[int, State], State]) -> State:
    """The last states of all sequences."""
    state, ended = _up_to(first, plan.sizes[plan.order[0]]), []
    for number in plan.order:
        rows, present = plan.sizes[number], len(state[0])
        if rows < present:
            ended.append(tuple(each[rows:] for each in state))
            state = _up_to(state, rows)
        elif rows > present:
            pairs = zip(state, first, strict=True)
            state = tuple(torch.cat([own, start[present:rows]]) for own, start in pairs)
        state = step(number, state)
    return _stacked([state, *reversed(ended)])


def _up_to(state: State, rows: int) -> State:
    """Those of the first sequences."""
    return state if len(state[0]) == rows else tuple(each[:rows] for each in state)


def _stacked(states: Sequence[State]) -> State:
    """Those of one after the other."""
    return states[0] if len(states) == 1 else tuple(map(torch.cat, zip(*states, strict=True)))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts))


def _opened(function: Function, s: Tensor) -> Tensor:
    return torch.add(s, function(s), alpha=0.5).sigmoid_()


class _Gates:
    """The gates of one loop, which collect the gradients by their coefficients."""

    def __init__(self, formula: Formula, runner: Runner, table: Tensor, wanted: bool = False) -> None:
        self.formula, self.runner, self.table, self.wanted = formula, runner, table, wanted
        self.by_table: Tensor | None = None

    def open(self, s: Tensor) -> Tensor:
        return torch.add(s, self.runner.forward(self.formula, s, self.table, 1), alpha=0.5).sigmoid_()

    def backward(self, s: Tensor, opened: Tensor, by_gates: Tensor) -> Tensor:
        inner = _by_sigmoid(by_gates, opened)
        by_s, by_table = self.runner.backward(self.formula, inner, s, self.table, 1, (True, self.wanted))
        assert by_s is not None
        if by_table is not None:
            self.by_table = by_table if self.by_table is None else self.by_table.add_(by_table)
        return inner.add_(by_s, alpha=0.5)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Plan, formula: Formula, runner: Runner, rows: Tensor, table: Tensor, *rest: Any
    ) -> State:
        weights, first = Weights(*rest[:4]), rest[4:]
        gates, kept = _Gates(formula, runner, table), list[Tensor]()
        parts = plan.parts(plan.kind.projected(weights, rows))
        outputs: list[Tensor] = [rows] * len(parts)

        def step(number: int, state: State) -> State:
            after, own = plan.kind.forward(gates, weights, parts[number], state)
            outputs[number] = after[0]
            kept.extend(own)
            return after

        last = _loop(plan, first, step)
        ctx.rest = plan, formula, runner
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(rows, table, *rest, *kept)
        # Of one step the output is the last hidden state, which may not be given twice.
        return last if len(outputs) == 1 else (torch.cat(outputs), *last)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, formula, runner = ctx.rest
        count = 6 + plan.kind.states
        saved, wanted = ctx.saved_tensors, ctx.needs_input_grad[3:]
        inputs, kept = saved[:count], saved[count:]
        by_output, by_last = None if len(plan.sizes) == 1 else upstream[0], upstream[-plan.kind.states :]
        if torch.is_grad_enabled() or any(each is not None and is_batched(each) for each in upstream):
            found = _composed_gradients(plan, formula, inputs, (by_output, *by_last), wanted)
            return None, None, None, *found
        rows, table, *rest = inputs
        weights, first = Weights(*rest[:4]), rest[4:]
        by_states = tuple(
            torch.zeros_like(start) if by is None else by for start, by in zip(first, by_last, strict=True)
        )
        length = len(kept) // len(plan.sizes)
        steps = [kept[start : start + length] for start in range(0, len(kept), length)]
        gates = _Gates(formula, runner, table, wanted[1])
        by_given, by_recurrent, by_first = _through_time(plan, gates, weights, steps, by_output, by_states)
        by_bias = by_given.sum(0) if wanted[4] else None
        before: list[Tensor] = [rows] * len(steps)
        for number, own in zip(plan.order, steps, strict=True):
            before[number] = own[-len(first)]
        return (
            *(None, None, None),
            by_given @ weights.weight_ih if wanted[0] else None,
            None if gates.by_table is None else gates.by_table.mul_(0.5),
            by_given.t() @ rows if wanted[2] else None,
            by_recurrent.t() @ _joined(before) if wanted[3] else None,
            by_bias,
            by_bias if by_recurrent is by_given else by_recurrent.sum(0) if wanted[5] else None,
            *by_first,
        )


def _through_time(
    plan: Plan,
    gates: _Gates,
    weights: Weights,
    kept: Sequence[Step],
    by_output: Tensor | None,
    by_last: State,
) -> tuple[Tensor, Tensor, State]:
    """Gradients by what inputs and hidden states contribute to activations, and by first states."""
    order = plan.order
    parts = None if by_output is None else plan.parts(by_output)
    state = _up_to(by_last, plan.sizes[order[-1]])
    found: list[tuple[Tensor, Tensor]] = [(by_last[0], by_last[0])] * len(order)
    begun = []
    for place in reversed(range(len(order))):
        number, rows = order[place], len(state[0])
        if parts is not None:
            state = (state[0] + parts[number], *state[1:])
        by_given, by_recurrent, state = plan.kind.backward(gates, weights, kept[place], state)
        found[number] = by_given, by_recurrent
        before = plan.sizes[order[place - 1]] if place else 0
        if before < rows:
            begun.append(tuple(each[before:] for each in state) if before else state)
            state = _up_to(state, before) if before else state
        elif before > rows:
            pairs = zip(state, by_last, strict=True)
            state = tuple(torch.cat([own, last[rows:before]]) for own, last in pairs)
    given, recurrent = zip(*found, strict=True)
    whole = _joined(given)
    return whole, whole if given[0] is recurrent[0] else _joined(recurrent), _stacked(begun[::-1])


def _composed_gradients(
    plan: Plan,
    formula: Formula,
    inputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    wanted: Sequence[bool],
) -> list[Tensor | None]:
    """Gradients that can be differentiated again, by autograd through the composed loop."""
    with torch.enable_grad():
        inputs = apart(*inputs)
        rows, table, *rest = inputs
        output, last = composed(
            plan, lambda s: apply(formula, s, table, 1), Weights(*rest[:4]), rows, tuple(rest[4:])
        )
    pairs = [(value, by) for value, by in zip((output, *last), upstream, strict=True) if by is not None]
    asked = [each for each, want in zip(inputs, wanted, strict=True) if want and each is not None]
    values, by_values = zip(*pairs, strict=True)
    found = iter(
        torch.autograd.grad(values, asked, by_values, create_graph=torch.is_grad_enabled(), allow_unused=True)
    )
    return [next(found) if want else None for want in wanted]


# As in kafnets.ops.recorded: what apply comes to where torch.func is not at work.
_record: Callable[..., State] = super(torch.autograd.Function, _Recurrence).apply
