"""Differential equations for physics-informed networks, with solutions to compare with.

Networks see no solution: they minimize the equation's residual at random points. Conditions at the start and
the boundary hold by construction, so that there are no weights of several losses to choose.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from torch import Tensor, nn

from benchmarks.when.methods import network, size
from benchmarks.when.study import Case, Study

Array = NDArray[np.float64]
VISCOSITY, DIFFUSION, REACTION = 0.05 / np.pi, 0.01, 2.0
WAVES = (1.0, 4.0)
"""Half periods of Helmholtz's solution along both axes, times two."""
POINTS, VALIDATION_POINTS = 256, 2000
GRID = 101
"""Points along each axis at which solutions are compared."""


@dataclass(frozen=True)
class Equation:
    """Of u(x, y) with x from -1 to 1.

    Attributes:
        low: of y, which is time (from 0) or a second place (from -1); up to 1.
        constrained: u from the network's output, x and y.
        residual: from u, its first derivatives (rows, 2), its second ones along x and y, and x and y.
        solution: on a grid, from x and y: (len(x), len(y)).
    """

    low: float
    constrained: Callable[[Tensor, Tensor, Tensor], Tensor]
    residual: Callable[[Tensor, Tensor, Callable[[int], Tensor], Tensor, Tensor], Tensor]
    solution: Callable[[Array, Array], Array]

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """Uniform ones (count, 2)."""
        unit = torch.rand(count, 2, generator=generator)
        low = torch.tensor([-1.0, self.low])
        return low + (1 - low) * unit

    def value(self, net: nn.Module, points: Tensor) -> Tensor:
        """u; the network sees both variables scaled to [-1, 1]."""
        x, y = points.unbind(1)
        scaled = torch.stack([x, (2 * y - 1 - self.low) / (1 - self.low)], dim=1)
        return self.constrained(net(scaled)[:, 0], x, y)

    def loss(self, net: nn.Module, points: Tensor) -> Tensor:
        """Mean squared residual."""
        points = points.requires_grad_()
        u = self.value(net, points)
        (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)

        def second(axis: int) -> Tensor:
            found: Tensor = torch.autograd.grad(first[:, axis].sum(), points, create_graph=True)[0]
            return found[:, axis]

        return self.residual(u, first, second, *points.unbind(1)).square().mean()


def burgers(x: Array, t: Array) -> Array:
    """Exact, from u(x, 0) = -sin(pi x), by the Cole-Hopf transform and Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(200)
    places = x[:, None, None] - 2 * np.sqrt(VISCOSITY * t)[:, None] * nodes
    exponents = -np.cos(np.pi * places) / (2 * np.pi * VISCOSITY)
    shares = weights * np.exp(exponents - exponents.max(-1, keepdims=True))
    return np.asarray(-(shares * np.sin(np.pi * places)).sum(-1) / shares.sum(-1))


def allen_cahn(x: Array, t: Array, cells: int = 2000) -> Array:
    """By the method of lines, with central differences of second order and an implicit solver.

    x must be among the places of the cells' edges.
    """
    places = np.linspace(-1, 1, cells + 1)

    def slope(_: float, inside: Array) -> Array:
        whole = np.concatenate([[-1.0], inside, [-1.0]])
        curvature = (whole[2:] - 2 * inside + whole[:-2]) * (cells / 2) ** 2
        return np.asarray(DIFFUSION * curvature + REACTION * (inside - inside**3))

    start = places**2 * np.cos(np.pi * places)
    found = solve_ivp(slope, (0, 1), start[1:-1], "LSODA", t, lband=1, uband=1, rtol=1e-8, atol=1e-10)
    whole = np.pad(found.y, ((1, 1), (0, 0)), constant_values=-1.0)
    return np.asarray(whole[np.round((x + 1) * cells / 2).astype(int)])


def helmholtz(x: Array, y: Array) -> Array:
    """sin(pi x) sin(4 pi y)."""
    return np.asarray(np.sin(WAVES[0] * np.pi * x)[:, None] * np.sin(WAVES[1] * np.pi * y))


def _helmholtz_residual(
    u: Tensor, first: Tensor, second: Callable[[int], Tensor], x: Tensor, y: Tensor
) -> Tensor:
    waves = torch.sin(WAVES[0] * torch.pi * x) * torch.sin(WAVES[1] * torch.pi * y)
    strength = torch.pi**2 * (WAVES[0] ** 2 + WAVES[1] ** 2)
    return (second(0) + second(1) + u + (strength - 1) * waves) / strength


EQUATIONS = {
    "Burgers": Equation(
        0.0,
        lambda n, x, t: -torch.sin(torch.pi * x) + t * (1 - x**2) * n,
        lambda u, first, second, x, t: first[:, 1] + u * first[:, 0] - VISCOSITY * second(0),
        burgers,
    ),
    "Allen-Cahn": Equation(
        0.0,
        lambda n, x, t: x**2 * torch.cos(torch.pi * x) + t * (1 - x**2) * n,
        lambda u, first, second, x, t: first[:, 1] - DIFFUSION * second(0) - REACTION * (u - u**3),
        allen_cahn,
    ),
    "Helmholtz": Equation(-1.0, lambda n, x, y: (1 - x**2) * (1 - y**2) * n, _helmholtz_residual, helmholtz),
}


@functools.cache
def reference(name: str) -> tuple[Tensor, Tensor]:
    """Points of a grid (GRID**2, 2) and the solution there."""
    equation = EQUATIONS[name]
    x, y = np.linspace(-1, 1, GRID), np.linspace(equation.low, 1, GRID)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    return torch.tensor(points, dtype=torch.float32), torch.tensor(equation.solution(x, y).ravel())


def trial(case: Case, rate: float, steps: int) -> dict[str, float]:
    """Adam with a cosine schedule, on new points at each step. The validation error is a residual."""
    equation, net = EQUATIONS[case.name], network(case.method, 2, 1, case.budget, case.seed)
    generator = torch.Generator().manual_seed(case.seed)
    held_out = equation.points(VALIDATION_POINTS, generator)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        loss = equation.loss(net, equation.points(POINTS, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    points, exact = reference(case.name)
    with torch.no_grad():
        wrong = equation.value(net, points).double() - exact
    return {
        "validation": float(equation.loss(net, held_out).detach().sqrt()),
        "test": float(wrong.norm() / exact.norm()),
        "parameters": size(net),
    }


STUDY = Study(
    names=tuple(EQUATIONS),
    methods=("tanh", "sine", "tanh, 4 layers", "sine, 4 layers", "kaf", "kaf on tanh"),
    budgets=(1000,),
    rates=(0.01, 0.03),
    steps=1500,
    trial=trial,
)
