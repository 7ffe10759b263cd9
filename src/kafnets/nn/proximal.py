"""Penalties that give exact zeros, by a proximal step after each step of an optimizer."""

import math

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from kafnets.nn.regularization import mixing_coefficients


def proximal(
    optimizer: torch.optim.Optimizer, model: nn.Module, strength: float, *, group: bool = False
) -> RemovableHandle:
    r"""Penalize mixing coefficients so that they become exactly 0.

    After each step of the optimizer, the coefficients :math:`\alpha` of a model become

    .. math:: \arg\min_a \tfrac12 \|a - \alpha\|^2 + \eta \lambda \, \Omega(a),

    with the learning rate :math:`\eta` of their parameter group. For :math:`\Omega(a) = \sum_i |a_i|` that is
    :math:`\mathrm{sign}(\alpha_i) \max(|\alpha_i| - \eta \lambda, 0)`; for the sum of the neurons' norms,
    :math:`\Omega(a) = \sum_n \|a_n\|_2`, it is :math:`\alpha_n \max(1 - \eta \lambda / \|\alpha_n\|_2, 0)`.
    Adding :func:`kafnets.penalty` to the loss has the same minimum, but leaves small values instead of zeros.

    >>> model = kafnets.mlp(8, (16,), 1, "kaf")
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    >>> hook = kafnets.proximal(optimizer, model, strength=5.0, group=True)
    >>> for _ in range(50):
    ...     optimizer.zero_grad()
    ...     model(torch.randn(5, 8)).square().mean().backward()
    ...     optimizer.step()
    >>> bool((model[1].alpha == 0).all(1).any())
    True

    Args:
        optimizer: any optimizer whose parameter groups have a learning rate.
        model: any module that contains ours, at any depth.
        strength: :math:`\lambda \ge 0`.
        group: penalize whole neurons, one group per neuron, instead of single coefficients.

    Returns:
        A handle whose ``remove()`` stops it.

    Source: N. Parikh and S. Boyd, Proximal algorithms, 2014, sections 6.5.2 and 6.5.1.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer must be a torch.optim.Optimizer, got {type(optimizer).__name__}")
    if not (math.isfinite(strength) and strength >= 0):
        raise ValueError(f"strength must be a finite number ≥ 0, got {strength}")
    penalized = set(mixing_coefficients(model, with_l2=False))
    stepped = {each for settings in optimizer.param_groups for each in settings["params"]}
    if not penalized & stepped:
        raise ValueError(
            "optimizer must hold mixing coefficients of model, got none: was it created for another model?"
        )

    @torch.no_grad()
    def shrink(optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        for settings in optimizer.param_groups:
            threshold = float(settings["lr"]) * strength
            for alpha in penalized.intersection(settings["params"]):
                if not group:
                    alpha.copy_(nn.functional.softshrink(alpha, threshold))
                    continue
                norms = torch.linalg.vector_norm(alpha.flatten(1), dim=1)
                factors = (1 - threshold / norms.clamp(min=torch.finfo(norms.dtype).tiny)).clamp(min=0)
                alpha.mul_(factors.reshape(-1, *[1] * (alpha.dim() - 1)))

    return optimizer.register_step_post_hook(shrink)
