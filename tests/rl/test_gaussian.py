"""The Gaussian without checks is Stable-Baselines3's."""

import torch
from stable_baselines3.common.distributions import DiagGaussianDistribution, kl_divergence

from kafnets.rl.gaussian import UncheckedGaussian


def test_the_same_to_the_last_bit_with_the_same_draws() -> None:
    found = []
    for kind in (DiagGaussianDistribution, UncheckedGaussian):
        torch.manual_seed(0)
        mean, log_std = torch.randn(64, 3, requires_grad=True), torch.randn(3, requires_grad=True)
        made = kind(3).proba_distribution(mean, log_std)
        drawn, best = made.get_actions(), made.get_actions(deterministic=True)
        log_prob, entropy = made.log_prob(drawn.detach() + 1.0), made.entropy()
        assert entropy is not None
        by = torch.autograd.grad(log_prob.square().sum() + entropy.sum(), [mean, log_std])
        found.append([drawn, best, log_prob, entropy, *by])
    for expected, own in zip(*found, strict=True):
        assert torch.equal(expected, own)


def test_distances_between_policies() -> None:
    zeros = torch.zeros(1, 2)
    narrow, wide = (UncheckedGaussian(2).proba_distribution(zeros, torch.full((2,), s)) for s in (0.0, 1.0))
    assert kl_divergence(narrow, narrow).abs().max() == 0
    assert kl_divergence(narrow, wide).sum() > 0
