"""Train a residual network of 56 layers with KAFs, without any normalization, on scikit-learn's digits.

Each block is x + f(x) / sqrt(blocks), where f is two 3 x 3 convolutions, each with a KAF behind it. KAFs
start with Normal(gain="backward") behind weights of variance 1 / fan_in, so that f keeps the size of
gradients. A block then multiplies their mean square by about 1 + 1 / blocks, and all blocks together by about
e: neither activations nor gradients vanish or explode, and every parameter learns from the first step. (The
other usual way, coefficients of 0 at the end of each branch, lets the rest of the branch wait for its turn.)
"""

import math

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import kafnets


def convolution(inputs: int, outputs: int, generator: torch.Generator) -> nn.Conv2d:
    made = nn.Conv2d(inputs, outputs, 3, padding=1)
    nn.init.kaiming_normal_(made.weight, nonlinearity="linear", generator=generator)  # variance 1 / fan_in
    assert made.bias is not None
    nn.init.zeros_(made.bias)
    return made


class Block(nn.Module):
    """x + scale * f(x), with two convolutions in f."""

    def __init__(self, channels: int, scale: float, gain: kafnets.starts.Gain, generator: torch.Generator):
        super().__init__()
        self.scale = scale
        layers: list[nn.Module] = []
        for _ in range(2):
            kaf = kafnets.KAF(channels, init=kafnets.Normal(gain=gain), generator=generator)
            layers += [convolution(channels, channels, generator), kaf]
        self.branch = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.scale * self.branch(x)


def deep_residual(
    blocks: int = 27, channels: int = 8, gain: kafnets.starts.Gain = "backward", seed: int = 0
) -> nn.Sequential:
    """2 * blocks + 2 layers with weights: a convolution, the blocks, a linear map."""
    generator = torch.Generator().manual_seed(seed)
    scale = 1 / math.sqrt(blocks)
    inner = [Block(channels, scale, gain, generator) for _ in range(blocks)]
    last = nn.Linear(channels * 64, 10)
    nn.init.kaiming_normal_(last.weight, nonlinearity="linear", generator=generator)
    nn.init.zeros_(last.bias)
    return nn.Sequential(convolution(1, channels, generator), *inner, nn.Flatten(), last)


def norms(model: nn.Sequential, images: Tensor, target: Tensor) -> tuple[list[float], list[float]]:
    """The root mean square of each block's output, and of the loss's gradient there."""
    outputs: list[Tensor] = []
    x = images
    for layer in model:
        x = layer(x)
        if isinstance(layer, Block):
            outputs.append(x)
    gradients = torch.autograd.grad(nn.functional.cross_entropy(x, target), outputs)
    return [each.detach().square().mean().sqrt().item() for each in outputs], [
        each.square().mean().sqrt().item() for each in gradients
    ]


def main() -> None:
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
    images = (images - images.mean()) / images.std()
    target = torch.tensor(digits.target)
    model = deep_residual()
    activations, gradients = norms(model, images[:256], target[:256])
    print(f"activations, last over first: {activations[-1] / activations[0]:.2f}")
    print(f"gradients, first over last: {gradients[0] / gradients[-1]:.2f}")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(20):
        rows = torch.randint(0, 1200, (64,))
        loss = nn.functional.cross_entropy(model(images[rows]), target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1}, loss {loss.item():.3f}")
    with torch.no_grad():
        right = (model(images[1200:]).argmax(dim=1) == target[1200:]).double().mean().item()
    print(f"accuracy on other digits: {right:.3f}")


if __name__ == "__main__":
    main()
