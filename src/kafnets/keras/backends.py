"""How an expansion is computed on each of Keras's backends: by the front end of that framework."""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from kafnets.frontends import formulas
from kafnets.frontends.library import Library
from kafnets.frontends.plan import Plan

Tensor = Any
Expand = Callable[[Plan, Tensor, Tensor, Tensor | None], Tensor]
"""From activations with channels last, alpha, and perhaps a learned gamma, all in the same precision."""


def expansion() -> Expand:
    """For the backend that Keras runs on."""
    name = keras.backend.backend()
    known: dict[str, Expand] = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
    if name not in known:
        raise RuntimeError(
            f"kafnets.keras runs on {', '.join(known)}, but Keras on {name}: set KERAS_BACKEND"
        )
    return known[name]


def _jax(plan: Plan, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
    from kafnets.jax.primitive import expand_p

    return expand_p.bind(s, alpha, *(() if gamma is None else (gamma,)), plan=plan)


def _torch(plan: Plan, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
    import torch

    from kafnets import ops

    dictionary = torch.tensor(plan.dictionary, dtype=alpha.dtype, device=alpha.device)
    function = ops.kaf if plan.dimensions == 1 else ops.kaf2d
    bandwidth = plan.gamma if gamma is None else gamma
    return function(
        s,
        alpha,
        dictionary,
        kernel=plan.kernel,
        gamma=bandwidth,
        dim=-1,
        grid=plan.grid,
        fusable=gamma is None and ops.can_be_fused(plan.kernel, plan.gamma, plan.grid),
    )


class _TensorFlowLibrary(Library):
    """Graphs with a loop in them are made and compiled in a fraction of the time, and need less memory."""

    def __init__(self, module: Any, dtype: Any) -> None:
        super().__init__(module)
        self.dtype = dtype

    def accumulate(self, count: int, turn: Callable[[Any, Any], Any], start: Any) -> Any:
        import tensorflow as tf

        if count == 1:
            return turn(0, start)
        return tf.while_loop(
            lambda i, _: i < count,
            lambda i, total: (i + 1, turn(i, total)),
            (tf.constant(0), start),
            maximum_iterations=count,
        )[1]

    def element(self, values: Sequence[float], i: Any, like: Tensor) -> Tensor:
        import tensorflow as tf

        return tf.constant(values, like.dtype)[i]

    def collect(self, count: int, turn: Callable[[Any], Tensor]) -> Tensor:
        import tensorflow as tf

        if count == 1:
            return turn(0)[None]
        found = tf.TensorArray(self.dtype, count)
        return tf.while_loop(
            lambda i, _: i < count,
            lambda i, found: (i + 1, found.write(i, turn(i))),
            (tf.constant(0), found),
            maximum_iterations=count,
        )[1].stack()


def _tensorflow(plan: Plan, s: Tensor, alpha: Tensor, gamma: Tensor | None) -> Tensor:
    import tensorflow as tf

    xp, double = _TensorFlowLibrary(keras.ops, s.dtype), s.dtype == tf.float64

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def expand(s: Tensor, alpha: Tensor, *learned: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        bandwidth = learned[0] if learned else None

        def back(upstream: Tensor) -> tuple[Tensor, ...]:
            slopes = formulas.slope(xp, plan, s, alpha, bandwidth, double)
            found = (
                formulas.by_input(xp, plan, upstream, slopes),
                formulas.by_coefficients(xp, plan, upstream, s, bandwidth, double),
            )
            return (
                found
                if bandwidth is None
                else (*found, formulas.by_gamma(xp, plan, upstream, s, alpha, bandwidth))
            )

        return formulas.expand(xp, plan, s, alpha, bandwidth, double), back

    return expand(s, alpha, *(() if gamma is None else (gamma,)))
