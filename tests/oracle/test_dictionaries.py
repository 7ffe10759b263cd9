import math

import numpy as np
import pytest

from tests import oracle


def test_equispaced_reaches_both_ends() -> None:
    grid = oracle.equispaced(20, 3.0)
    assert grid.shape == (20,)
    assert grid[0] == -3.0
    assert grid[-1] == 3.0
    np.testing.assert_allclose(np.diff(grid), 6 / 19, rtol=1e-14)
    np.testing.assert_allclose(grid, -grid[::-1], atol=1e-15)


def test_rule_of_thumb_is_the_papers() -> None:
    step = oracle.spacing(oracle.equispaced(20, 3.0))
    assert step == pytest.approx(6 / 19, rel=1e-15)
    assert oracle.bandwidth_rule_of_thumb(step) == pytest.approx(361 / 216, rel=1e-14)
    assert oracle.bandwidth_rule_of_thumb(step, dimensions=2) == pytest.approx(
        math.sqrt(2) * 361 / 216, rel=1e-14
    )
    assert oracle.bandwidth_rule_of_thumb(0.5, divisor=8.0) == 0.5


def test_float32_grid_counts_as_equispaced() -> None:
    grid = oracle.equispaced(500, 3.0).astype(np.float32)
    assert oracle.spacing(grid) == pytest.approx(6 / 499, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: oracle.equispaced(1, 3.0), "dictionary_size must be 2 or more.*got 1"),
        (lambda: oracle.equispaced(5, -1.0), "boundary must be a positive.*got -1.0"),
        (lambda: oracle.equispaced(5, math.inf), "boundary must be a positive finite"),
        (lambda: oracle.spacing([0.0, 1.0, 3.0]), "not equispaced.*explicit gamma"),
        (lambda: oracle.bandwidth_rule_of_thumb(1.0, dimensions=3), "dimensions must be 1 or 2, got 3"),
    ],
)
def test_errors_say_what_would_work(call, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()
