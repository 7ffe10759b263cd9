"""Draw the pictures of docs/zoo, one a family: ``python scripts/draw_zoo.py [family ...]``."""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from zoo import (
    expansions,
    fixed,
    maxout,
    parametric,
    piecewise,
    polynomials,
    splines,
    stochastic,
    vector_valued,
)

IMAGES = Path(__file__).parents[1] / "docs/zoo/images"
FAMILIES: dict[str, Callable[[], Figure]] = {
    "fixed": fixed.draw,
    "parametric": parametric.draw,
    "piecewise": piecewise.draw,
    "polynomials": polynomials.draw,
    "splines": splines.draw,
    "maxout": maxout.draw,
    "stochastic": stochastic.draw,
    "vector_valued": vector_valued.draw,
    "expansions": expansions.draw,
}


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for family in sys.argv[1:] or FAMILIES:
        figure = FAMILIES[family]()
        figure.savefig(IMAGES / f"{family}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
