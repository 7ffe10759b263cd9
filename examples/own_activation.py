"""A custom activation: five lines register it under a name that works everywhere in the package."""

import torch
from torch import Tensor, nn

import kafnets


# The five lines: any class or function whose first argument is the number of features.
@kafnets.register("sine")
class Sine(nn.Module):
    """sin(s)."""

    def __init__(self, num_features: int) -> None:
        super().__init__()

    def forward(self, s: Tensor) -> Tensor:
        return torch.sin(s)


# With parameters for each channel or group of them, and its row of `kafnets list` filled in: what is declared
# here is what the builders, weight decay and plots go by.
@kafnets.register("snake")
class Snake(kafnets.ByChannel):
    """s + sin(f s)^2 / f, with a learned frequency f."""

    facts = kafnets.Facts(
        family="parametric",
        source="Ziyin et al., 2020",
        formula="s + sin(f s)² / f",
        parameters="1",
        smooth=True,
        local="no",
        regularization="no",
        plottable=True,
    )
    undecayed_parameters = ("log_frequency",)

    def __init__(self, num_features: int = 1, *, groups: int | None = None, dim: int = 1) -> None:
        super().__init__(num_features, dim, groups)
        self.log_frequency = nn.Parameter(torch.zeros(self.groups))

    def activate(self, s: Tensor, dim: int) -> Tensor:
        frequency = self.along(self.log_frequency.exp(), s, dim)
        return s + torch.sin(frequency * s).square() / frequency


def error_of(activation: str) -> float:
    """The remaining error of a small network after learning a wave."""
    generator = torch.Generator().manual_seed(0)
    network = kafnets.mlp(1, (32, 32), 1, activation, generator=generator)
    x = torch.linspace(-1, 1, 256)[:, None]
    y = torch.sin(6 * x) + 0.5 * x
    optimizer = torch.optim.Adam(kafnets.param_groups(network, weight_decay=1e-6), lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
    return loss.item() ** 0.5


def main() -> None:
    for activation in ("relu", "kaf", "sine", "snake"):
        print(f"{activation:6} root mean squared error {error_of(activation):.4f}")


if __name__ == "__main__":
    main()
