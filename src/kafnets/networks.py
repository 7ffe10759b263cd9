"""Networks with any activation: the builders know who changes the width and who brings the linear map."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from kafnets.nn.activation import check_whole
from kafnets.registry import Factory, accepted, create, facts_of, find

Activation = str | Factory
"""A registered name, or what makes a module from the number of features."""


def mlp(
    inputs: int,
    hidden: Sequence[int] = (300, 300),
    outputs: int = 1,
    activation: Activation = "kaf",
    *,
    dropout: float | Sequence[float] = 0.0,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """A fully connected network.

    Each hidden layer is a linear map, the activation, and dropout; the last layer is a linear map. Weights
    start with He's uniform distribution and biases with 0, as in the paper::

        kafnets.mlp(18, (300,) * 5, 1, "selu", dropout=(0, 0, 0, 0.5, 0.5))
        kafnets.mlp(18, (300, 300), 1, "maxout", pieces=3)

    Args:
        inputs: the number of features, along the last axis of the input.
        hidden: the outputs of each hidden layer's linear map. An activation that changes the width, as a
            2D-KAF does, is followed by a linear map of that width. For layers that bring their linear map
            (maxout and its kin), the number of their neurons.
        outputs: of the last layer.
        activation: a name (see ``kafnets.names()``), or a function that makes a module from the number of
            features, such as ``lambda n: nn.GELU()``. One of torch's own classes, ``nn.GELU``, will do too.
        dropout: the share of values to drop behind the hidden layers, one for all or one for each. Alpha
            dropout behind SELU.
        generator: source of the first values; torch's default one if None.
        device: where the parameters live.
        dtype: their type.
        options: for the activation.
    """
    check_whole("inputs", inputs)
    check_whole("outputs", outputs)
    widths = [hidden] if isinstance(hidden, int) else list(hidden)
    linear = functools.partial(nn.Linear, device=device, dtype=dtype)
    surroundings = {"dim": -1, "generator": generator, "device": device, "dtype": dtype}
    layers: list[nn.Module] = []
    width = inputs
    for number, share in zip(widths, _shares(dropout, len(widths), "hidden layers"), strict=True):
        check_whole("hidden", number)
        block, width = _nonlinear(activation, width, number, linear, surroundings, options)
        layers += [*block, *_dropout(activation, share, nn.Dropout)]
    layers.append(linear(width, outputs))
    return _initialized(nn.Sequential(*layers), generator)


def cnn(
    channels: int = 3,
    image_size: int | tuple[int, int] = 32,
    modules: int = 2,
    outputs: int = 10,
    activation: Activation = "kaf",
    *,
    filters: int = 150,
    kernel_size: int = 5,
    dropout: float | Sequence[float] = 0.25,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """The paper's convolutional network for small images.

    Each module is a convolution with stride 1, the activation, max-pooling over 3 x 3 with stride 2, and
    dropout; the result is flattened for one linear map. The paper does not say how borders are padded. Its
    five modules fit 32 x 32 pixels only if convolutions keep the size and pooling halves it, so that is what
    they do.

    Args:
        channels: of the images.
        image_size: height and width, or one number for both.
        modules: how many; the paper has 2 to 5.
        outputs: of the last layer.
        activation: as for :func:`mlp`.
        filters: outputs of each convolution.
        kernel_size: of the convolutions, an odd number.
        dropout: the share of values to drop behind the modules, one for all or one for each.
        generator: source of the first values; torch's default one if None.
        device: where the parameters live.
        dtype: their type.
        options: for the activation.
    """
    for name, value in (
        ("channels", channels),
        ("modules", modules),
        ("filters", filters),
        ("outputs", outputs),
    ):
        check_whole(name, value)
    if not isinstance(kernel_size, int) or kernel_size < 1 or kernel_size % 2 == 0:
        raise ValueError(f"kernel_size must be an odd whole number, got {kernel_size!r}")
    height, breadth = (image_size, image_size) if isinstance(image_size, int) else image_size
    check_whole("image_size", min(height, breadth))
    convolution = functools.partial(
        nn.Conv2d, kernel_size=kernel_size, padding=kernel_size // 2, device=device, dtype=dtype
    )
    surroundings = {"dim": 1, "generator": generator, "device": device, "dtype": dtype}
    layers: list[nn.Module] = []
    width = channels
    for share in _shares(dropout, modules, "modules"):
        block, width = _nonlinear(activation, width, filters, convolution, surroundings, options)
        layers += [*block, nn.MaxPool2d(3, stride=2, padding=1), *_dropout(activation, share, nn.Dropout)]
        height, breadth = (height + 1) // 2, (breadth + 1) // 2
    layers += [nn.Flatten(), nn.Linear(width * height * breadth, outputs, device=device, dtype=dtype)]
    return _initialized(nn.Sequential(*layers), generator)


def _nonlinear(
    activation: Activation,
    width: int,
    number: int,
    linear: Callable[[int, int], nn.Module],
    surroundings: dict[str, Any],
    options: dict[str, Any],
) -> tuple[list[nn.Module], int]:
    """A linear map and its activation, or the layer that is both, and the width that comes out."""
    if isinstance(activation, str):
        taken = accepted(find(activation), **surroundings) | options
        if facts_of(activation).owns_linear:
            return [create(activation, number, in_features=width, linear=linear, **taken)], number
        made: nn.Module = create(activation, number, **taken)
    elif isinstance(activation, nn.Module):
        raise TypeError(
            f"activation must be a name or a function that makes modules, got {activation}: each layer "
            "needs one of its own"
        )
    elif isinstance(activation, type) and activation.__module__.startswith("torch.nn"):
        # torch's classes do not take the number of features, but for this one.
        sizes = (number,) if issubclass(activation, nn.PReLU) else ()
        made = activation(*sizes, **options)
    else:
        made = activation(number, **accepted(activation, **surroundings), **options)
    out_features = getattr(made, "out_features", number)
    assert isinstance(out_features, int)
    return [linear(width, number), made], out_features


def _dropout(activation: Activation, share: float, ordinary: type[nn.Module]) -> list[nn.Module]:
    if not share:
        return []
    facts = facts_of(activation) if isinstance(activation, str) else getattr(activation, "facts", None)
    if (facts is not None and facts.alpha_dropout) or activation is nn.SELU:
        return [nn.AlphaDropout(share)]
    return [ordinary(share)]


def _shares(dropout: float | Sequence[float], count: int, of_what: str) -> list[float]:
    shares = list(dropout) if isinstance(dropout, Sequence) else [dropout] * count
    if len(shares) != count:
        raise ValueError(
            f"dropout must be one number, or one for each of the {count} {of_what}, got {len(shares)}"
        )
    for share in shares:
        if not 0 <= share < 1:
            raise ValueError(f"dropout must be from 0 to below 1, got {share}")
    return shares


def _initialized(network: nn.Sequential, generator: torch.Generator | None) -> nn.Sequential:
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network
