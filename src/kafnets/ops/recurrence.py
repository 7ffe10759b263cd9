r"""Loops over time with gates :math:`\sigma(s + \frac12 g(s))`, of learned functions g.

In such a loop the number of operations counts, more than their size. So the whole loop is one node of the
graph, with backpropagation through time written out, wherever a runner gives values and gradients of g.
Elsewhere it is composed of torch's operators around g.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kafnets.ops.backends import Runner
from kafnets.ops.dispatch import apply
from kafnets.ops.formula import Formula
from kafnets.ops.plain import apart
from kafnets.ops.recorded import is_batched
from kafnets.ops.recurrent_steps import Function, Gates, Kind, State, Step, Weights


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
    state, _ = _resized(first, plan.sizes[plan.order[0]], first)
    ended: list[State] = []
    for number in plan.order:
        state, over = _resized(state, plan.sizes[number], first)
        ended += over
        state = step(number, state)
    return _stacked([state, *reversed(ended)])


def _resized(state: State, rows: int, others: State) -> tuple[State, list[State]]:
    """The states of so many sequences, the missing ones from ``others``; and those that are left over."""
    present = len(state[0])
    if rows == present:
        return state, []
    if rows < present:
        return tuple(each[:rows] for each in state), [tuple(each[rows:] for each in state)]
    pairs = zip(state, others, strict=True)
    return tuple(torch.cat([own, other[present:rows]]) for own, other in pairs), []


def _stacked(states: Sequence[State]) -> State:
    """Those of one after the other."""
    return states[0] if len(states) == 1 else tuple(map(torch.cat, zip(*states, strict=True)))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts))


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Plan, formula: Formula, runner: Runner, rows: Tensor, table: Tensor, *rest: Any
    ) -> State:
        weights, first = Weights(*rest[:4]), rest[4:]
        gates, kept = Gates(formula, runner, table), list[Tensor]()
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
        gates = Gates(formula, runner, table, wanted[1])
        by_given, by_recurrent, by_first = _through_time(plan, gates, weights, steps, by_output, by_states)
        by_bias = by_given.sum(0) if wanted[4] else None
        before: list[Tensor] = [rows] * len(steps)
        for number, own in zip(plan.order, steps, strict=True):
            before[number] = own[-len(first)]
        return (
            *(None, None, None),
            by_given @ weights.weight_ih if wanted[0] else None,
            gates.by_table,
            by_given.t() @ rows if wanted[2] else None,
            by_recurrent.t() @ _joined(before) if wanted[3] else None,
            by_bias,
            by_bias if by_recurrent is by_given else by_recurrent.sum(0) if wanted[5] else None,
            *by_first,
        )


def _through_time(
    plan: Plan,
    gates: Gates,
    weights: Weights,
    kept: Sequence[Step],
    by_output: Tensor | None,
    by_last: State,
) -> tuple[Tensor, Tensor, State]:
    """Gradients by what inputs and hidden states contribute to activations, and by first states."""
    order = plan.order
    parts = None if by_output is None else plan.parts(by_output)
    state, _ = _resized(by_last, plan.sizes[order[-1]], by_last)
    found: list[tuple[Tensor, Tensor]] = [(by_last[0], by_last[0])] * len(order)
    begun: list[State] = []
    for place in reversed(range(len(order))):
        number = order[place]
        if parts is not None:
            state = (state[0] + parts[number], *state[1:])
        by_given, by_recurrent, state = plan.kind.backward(gates, weights, kept[place], state)
        found[number] = by_given, by_recurrent
        if place:
            state, over = _resized(state, plan.sizes[order[place - 1]], by_last)
            begun += over
    given, recurrent = zip(*found, strict=True)
    whole = _joined(given)
    return (
        whole,
        whole if given[0] is recurrent[0] else _joined(recurrent),
        _stacked([state, *reversed(begun)]),
    )


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
