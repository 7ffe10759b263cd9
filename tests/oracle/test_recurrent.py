"""Closed-form gradients of recurrent networks against differences."""

from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.oracle import recurrent
from tests.oracle.test_expansions import slopes

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 3, 2


@pytest.mark.parametrize(("blocks", "gates"), [(4, 3), (3, 2)], ids=["lstm", "gru"])
def test_gradients(blocks: int, gates: int) -> None:
    rng = np.random.default_rng(1)
    rows = blocks * HIDDEN
    shapes = ((rows, INPUTS), (rows, HIDDEN), (rows,), (rows,), (gates * HIDDEN, 5))
    w = recurrent.Weights(*(rng.normal(size=shape) for shape in shapes))
    gate = recurrent.Gate(oracle.equispaced(5, 3.0), oracle.Gaussian(0.4))
    x, *states = (rng.normal(size=shape) for shape in ((STEPS, BATCH, INPUTS), *((BATCH, HIDDEN),) * 2))
    upstream = rng.normal(size=(STEPS, BATCH, HIDDEN))
    given = [x, *states[: blocks - 2]]
    functions: Any = (
        (recurrent.lstm, recurrent.lstm_gradients)
        if blocks == 4
        else (recurrent.gru, recurrent.gru_gradients)
    )
    values, gradients = functions
    *by_given, by_w = gradients(*given, w, gate, upstream)
    every, found = [*given, *w], [*by_given, *by_w]
    for number, at in enumerate(every):

        def output(value: Any, number: int = number) -> Any:
            moved = [*every[:number], value, *every[number + 1 :]]
            inputs, weights = moved[: len(given)], recurrent.Weights(*moved[len(given) :])
            return values(*inputs, weights, gate)[0]

        np.testing.assert_allclose(found[number], slopes(output, at, upstream), rtol=1e-6, atol=1e-8)
