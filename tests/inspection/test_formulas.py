"""Functions as short formulas: found where there are any, with the error that they have."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets.inspection.formulas import ENOUGH, KNOWN, SYMBOLIC, formula_of

PLACES = np.linspace(-5, 5, 101)
WEIGHTS = np.exp(-(PLACES**2) / 2)

CASES: list[Any] = [
    ("constant", lambda s: 0 * s + 2),
    ("named", lambda s: 3 * s),
    ("named", lambda s: 2 * np.tanh(0.8 * s - 0.5) + 1),
    ("named", lambda s: 1.5 * np.maximum(s - 0.3, 0) - 1),
    ("named", lambda s: s / (1 + np.exp(-s))),
    ("polynomial", lambda s: 0.1 * s**3 - s),
    ("gaussians", lambda s: np.exp(-((s - 1) ** 2)) - 0.5 * np.exp(-((s + 1) ** 2))),
    ("none", lambda s: np.sin(9 * s) * np.cos(5 * s**2)),
]


@pytest.mark.parametrize(("kind", "function"), CASES)
def test_kinds_and_errors(kind: str, function: Any) -> None:
    import sympy

    values = function(PLACES)
    found = formula_of(PLACES, values, WEIGHTS)
    assert found.kind == kind
    if kind == "none":
        assert found.text == "no short formula"
        assert found.expression is None
        assert found.error > ENOUGH
        return
    expression = found.expression
    again = np.array([float(expression.subs("s", place)) for place in PLACES])
    share = WEIGHTS / WEIGHTS.sum()
    deviation = np.sqrt((share * (values - (share * values).sum()) ** 2).sum()) or 1.0
    error = np.sqrt((share * (again - values) ** 2).sum()) / deviation
    assert error == pytest.approx(found.error, abs=1e-6)
    assert error <= ENOUGH
    assert sympy.count_ops(expression) < 30


@pytest.mark.parametrize("name", KNOWN)
def test_names_mean_the_same_to_sympy(name: str) -> None:
    import sympy

    s = sympy.Symbol("s", real=True)
    found = sympy.lambdify(s, SYMBOLIC[name](sympy, s), "numpy")(PLACES)
    np.testing.assert_allclose(found, KNOWN[name](PLACES), rtol=1e-12, atol=1e-12)


def test_a_model_in_formulas() -> None:
    model = nn.Sequential(nn.Linear(2, 3), kafnets.KAF(3, init="tanh"))
    x = torch.randn(200, 2)
    shapes = kafnets.describe(model, x, as_formula=True)
    assert all(each.formula is not None and each.formula.kind == "named" for each in shapes)
    assert "tanh" in str(shapes)
    assert kafnets.describe(model, x)[0].formula is None
    pairs = kafnets.describe(nn.Sequential(nn.Linear(2, 4), kafnets.KAF2D(4)), x, as_formula=True)
    assert all(each.formula is None for each in pairs)
