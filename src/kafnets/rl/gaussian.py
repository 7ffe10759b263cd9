"""The noise of continuous actions, where one action is chosen at a time and batches are small."""

import math

import torch
from stable_baselines3.common.distributions import DiagGaussianDistribution, sum_independent_dims
from torch import Tensor
from torch.distributions import Normal


class UncheckedGaussian(DiagGaussianDistribution):
    """Stable-Baselines3's, to the last bit and with the same draws.

    It spares torch's distribution, whose making and checks take longer than everything that is computed.
    Weights that are not finite give actions that are not, instead of an error.
    """

    _mean: Tensor
    _deviation: Tensor

    def proba_distribution(self, mean_actions: Tensor, log_std: Tensor) -> "UncheckedGaussian":
        self._mean, self._deviation = mean_actions, log_std.exp().expand_as(mean_actions)
        return self

    # For those who want to know it, such as kl_divergence.
    @property
    def distribution(self) -> Normal:  # type: ignore[override]
        """As torch knows it."""
        return Normal(self._mean, self._deviation, validate_args=False)

    def log_prob(self, actions: Tensor) -> Tensor:
        # In the order of torch's, which rounding and the gradients' sums depend on.
        deviation = self._deviation
        squares = -((actions - self._mean) ** 2) / (2 * deviation**2)
        return sum_independent_dims(squares - deviation.log() - math.log(math.sqrt(2 * math.pi)))

    def entropy(self) -> Tensor:
        return sum_independent_dims(0.5 + 0.5 * math.log(2 * math.pi) + self._deviation.log())

    def sample(self) -> Tensor:
        return self._mean + torch.randn_like(self._mean) * self._deviation

    def mode(self) -> Tensor:
        return self._mean
