"""APL: what the theorem says it can be, and what it cannot."""

import itertools

import numpy as np
import torch
from torch import Tensor

from kafnets import APL


def apl_of(corners: list[tuple[float, float]], slope_on_the_left: float) -> APL:
    """Passes through these corners, is the identity right of the last, and has that slope on the left.

    One hinge a corner takes the change of slope there; where the rectifier has its own corner, at 0, one
    takes it back.
    """
    slopes = [slope_on_the_left]
    for (x, y), (next_x, next_y) in itertools.pairwise(corners):
        slopes.append((next_y - y) / (next_x - x))
    slopes.append(1.0)
    # max(0, b - s) changes the slope by +1 at b, from left to right.
    changes = {x: right - left for (x, _), left, right in zip(corners, slopes, slopes[1:], strict=False)}
    changes[0.0] = changes.get(0.0, 0.0) - 1.0
    apl = APL(1, segments=len(changes), dtype=torch.float64)
    with torch.no_grad():
        apl.places.copy_(torch.tensor(list(changes), dtype=torch.float64))
        apl.slopes.copy_(torch.tensor(list(changes.values()), dtype=torch.float64))
    return apl


def test_it_reproduces_a_piecewise_linear_function_that_meets_the_conditions() -> None:
    corners = [(-2.0, 1.0), (-1.0, -0.5), (0.5, 2.0), (1.5, 1.5)]
    s = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    wanted = np.interp(s.numpy(), [x for x, _ in corners], [y for _, y in corners])
    wanted = np.where(s < -2, 1.0 - 0.7 * (s + 2), np.where(s > 1.5, s, wanted))
    result = apl_of(corners, slope_on_the_left=-0.7)(s[:, None])[:, 0]
    np.testing.assert_allclose(result.detach(), wanted, atol=1e-12)


def test_it_is_the_identity_on_the_right_whatever_is_learned() -> None:
    """So a function with another slope there, such as a leaky one, is out of reach."""
    apl = APL(50, segments=4, dtype=torch.float64)
    with torch.no_grad():
        apl.slopes.normal_(0, 10)
    beyond = apl.places.max().item() + torch.linspace(0.1, 5, 20, dtype=torch.float64).clamp_min(0.1)
    s = beyond.clamp_min(0.0)[:, None].expand(-1, 50)
    torch.testing.assert_close(apl(s), s)


def test_fitting_fails_without_the_condition_and_succeeds_with_it() -> None:
    s = torch.linspace(-3, 3, 301, dtype=torch.float64)[:, None]

    def error_of_the_best_fit(target: Tensor) -> float:
        """Places on a fine grid, slopes by least squares: no APL of any size does better there."""
        places = torch.linspace(-3, 3, 301, dtype=torch.float64)
        hinges = (places - s).relu()
        rest = target - s.relu()
        solution = torch.linalg.lstsq(hinges, rest, driver="gelsd").solution
        return float((hinges @ solution - rest).abs().max())

    assert error_of_the_best_fit(torch.where(s > 0, s, 0.3 * s)) < 1e-9
    assert error_of_the_best_fit(s.abs() * 0.5) > 0.1  # the slope is 1/2 far right
