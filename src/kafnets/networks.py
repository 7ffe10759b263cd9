"""Networks with any activation, including those that change the width or contain a linear map."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import nn

from kafnets.checks import check_integer, is_number
from kafnets.nn.edgewise import EdgewiseKAF
from kafnets.nn.shared_members import MemberLinear
from kafnets.registry import Factory, accepted, declared_by, facts_of, find, make

Activation = str | Factory
"""A registered name, or what makes a module from the number of features."""

Weights = Literal["he", "lecun"]
"""Uniform distributions of first weights: variance 2 / fan_in, and 1 / fan_in."""

WIDEST, MOST_WEIGHTS = 2**24, 2**31
"""Of a hidden layer and of a linear map: what is larger is a mistake, and would exhaust the memory."""


def mlp(
    inputs: int,
    hidden: Sequence[int] = (300, 300),
    outputs: int = 1,
    activation: Activation = "kaf",
    *,
    dropout: float | Sequence[float] = 0.0,
    weights: Weights = "he",
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """A fully connected network.

    Each hidden layer is a linear map, the activation, and dropout; the last layer is a linear map. Weights
    are initialized with He's uniform distribution and biases with 0, as in the paper:

    >>> net = kafnets.mlp(18, (300,) * 5, 1, "selu", dropout=(0, 0, 0, 0.5, 0.5))
    >>> kafnets.mlp(18, (300, 300), 1, "maxout", pieces=3)(torch.randn(5, 18)).shape
    torch.Size([5, 1])

    Args:
        inputs: the number of features, along the last axis of the input.
        hidden: the outputs of each hidden layer's linear map. An activation that changes the width, such as a
            2D-KAF, is followed by a linear map of matching width. For layers that contain their linear map
            (the maxout family), the number of their neurons.
        outputs: of the last layer.
        activation: a name (see ``kafnets.names()``), or a function that creates a module from the number of
            features, such as ``lambda n: nn.GELU()``, or one of torch's classes, such as ``nn.GELU``.
        dropout: probability of dropout after the hidden layers, one number or one per layer. Alpha dropout is
            used after SELU.
        weights: initialization of the weights: "he", the paper's, a uniform distribution with variance 2 /
            fan_in, designed for ReLU; "lecun", with variance 1 / fan_in, for deep networks of KAFs with a
            ``gain``.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.
        options: for the activation.
    """
    check_integer("inputs", inputs)
    check_integer("outputs", outputs)
    widths = [hidden] if isinstance(hidden, int) else list(hidden)
    linear = linear_maps(nn.Linear, weights, generator, device=device, dtype=dtype)
    surroundings = {"dim": -1, "generator": generator, "device": device, "dtype": dtype}
    layers, width = hidden_layers(inputs, widths, activation, linear, surroundings, options, dropout=dropout)
    return nn.Sequential(*layers, linear(width, outputs))


def edgewise_mlp(
    inputs: int,
    hidden: Sequence[int] = (32,),
    outputs: int = 1,
    *,
    dictionary_size: int = 8,
    input_boundary: float = 1.25,
    base: str | None = "silu",
    normalize_from: int = 32,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """A network in which every connection has its own function: a Kolmogorov-Arnold network of KAFs.

    Each layer, including the last one, is an :class:`kafnets.EdgewiseKAF`. The first one has dictionaries for
    features scaled to [-1, 1]; the others are preceded by layer normalization if they have many inputs.
    (Normalizing only a few values removes too much information; of two values, only their order remains.)

    >>> kafnets.edgewise_mlp(4, (8,), 1)(torch.zeros(10, 4)).shape
    torch.Size([10, 1])

    Args:
        inputs: the number of features, along the last axis of the input.
        hidden: the outputs of each hidden layer.
        outputs: of the last layer.
        dictionary_size: of the expansions.
        input_boundary: the dictionaries of the first layer extend from ``-input_boundary`` to
            ``input_boundary``, slightly beyond the features.
        base: of the layers; None: linear parts.
        normalize_from: layers with at least this number of inputs are preceded by layer normalization.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.
        options: for the layers.
    """
    options |= {"dictionary_size": dictionary_size, "base": base}
    options |= {"generator": generator, "device": device, "dtype": dtype}
    first, *others = itertools.pairwise([inputs, *([hidden] if isinstance(hidden, int) else hidden), outputs])
    layers: list[nn.Module] = [EdgewiseKAF(*first, **options | {"boundary": input_boundary})]
    for before, after in others:
        if before >= normalize_from:
            layers.append(nn.LayerNorm(before, device=device, dtype=dtype))
        layers.append(EdgewiseKAF(before, after, **options))
    return nn.Sequential(*layers)


def hidden_layers(
    inputs: int,
    widths: Sequence[int],
    activation: Activation,
    linear: Callable[[int, int], nn.Module],
    surroundings: dict[str, Any],
    options: dict[str, Any],
    *,
    dropout: float | Sequence[float] = 0.0,
) -> tuple[list[nn.Module], int]:
    """All but the last linear map of a fully connected network, and the width that comes out.

    Args:
        inputs: the number of features.
        widths: as ``hidden`` of :func:`mlp`.
        activation: as for :func:`mlp`.
        linear: makes a linear map from the numbers of its inputs and outputs.
        surroundings: options that are for activations that take them: ``dim``, ``device`` and their like.
        options: for the activation.
        dropout: as for :func:`mlp`.
    """
    layers: list[nn.Module] = []
    width = inputs
    for number, share in zip(widths, _shares(dropout, len(widths), "hidden layers"), strict=True):
        check_integer("hidden", number)
        if number > WIDEST:
            raise ValueError(f"hidden must be at most {WIDEST}, got {number}")
        block, width = _nonlinear(activation, width, number, linear, surroundings, options)
        layers += [*block, *_dropout(activation, share)]
    return layers, width


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
    weights: Weights = "he",
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """The paper's convolutional network for small images.

    Each module is a convolution with stride 1, the activation, max-pooling over 3 x 3 with stride 2, and
    dropout; the result is flattened for one linear map. The paper does not say how borders are padded. Its
    five modules fit 32 x 32 pixels only if convolutions preserve the size and pooling halves it, as they do
    here. Weights are in the memory format ``torch.channels_last``, so that all modules compute in it whatever
    the images have: on CPUs, pooling and convolutions then take less time.

    >>> kafnets.cnn(3, 32, 2, 10, "kaf", filters=16)(torch.randn(5, 3, 32, 32)).shape
    torch.Size([5, 10])

    Args:
        channels: of the images.
        image_size: height and width, or one number for both.
        modules: number of modules; the paper has 2 to 5.
        outputs: of the last layer.
        activation: as for :func:`mlp`.
        filters: outputs of each convolution.
        kernel_size: of the convolutions, an odd number.
        dropout: probability of dropout after the modules, one number or one per module.
        weights: as for :func:`mlp`.
        generator: for random initial values; None: torch's default one.
        device: of the parameters.
        dtype: of the parameters.
        options: for the activation.
    """
    for name, value in (
        ("channels", channels),
        ("modules", modules),
        ("filters", filters),
        ("outputs", outputs),
    ):
        check_integer(name, value)
    if not isinstance(kernel_size, int) or kernel_size < 1 or kernel_size % 2 == 0:
        raise ValueError(f"kernel_size must be an odd integer, got {kernel_size!r}")
    height, breadth = image_size if isinstance(image_size, tuple) else (image_size, image_size)
    check_integer("image_size", height)
    check_integer("image_size", breadth)
    linear = linear_maps(nn.Linear, weights, generator, device=device, dtype=dtype)
    convolution = linear_maps(
        nn.Conv2d,
        weights,
        generator,
        kernel_size=kernel_size,
        padding=kernel_size // 2,
        device=device,
        dtype=dtype,
    )
    surroundings = {"dim": 1, "generator": generator, "device": device, "dtype": dtype}
    layers: list[nn.Module] = []
    width = channels
    for share in _shares(dropout, modules, "modules"):
        block, width = _nonlinear(activation, width, filters, convolution, surroundings, options)
        layers += [*block, nn.MaxPool2d(3, stride=2, padding=1), *_dropout(activation, share)]
        height, breadth = (height + 1) // 2, (breadth + 1) // 2
    layers += [nn.Flatten(), linear(width * height * breadth, outputs)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _nonlinear(
    activation: Activation,
    width: int,
    number: int,
    linear: Callable[[int, int], nn.Module],
    surroundings: dict[str, Any],
    options: dict[str, Any],
) -> tuple[list[nn.Module], int]:
    """A linear map and its activation, or the layer that is both, and the width that comes out."""
    if isinstance(activation, nn.Module):
        raise TypeError(
            f"activation must be a name or a function that creates modules, got {activation}: each layer "
            "needs its own module"
        )
    factory = find(activation) if isinstance(activation, str) else activation
    called = activation if isinstance(activation, str) else getattr(factory, "__name__", str(factory))
    taken = accepted(factory, **surroundings) | options
    if declared_by(factory).owns_linear:
        taken = {"in_features": width, "linear": linear} | taken
        layers = [make(factory, number, taken, called=called)]
    else:
        layers = [linear(width, number), make(factory, number, taken, called=called)]
    out_features = getattr(layers[-1], "out_features", number)
    assert isinstance(out_features, int)
    return layers, out_features


def _dropout(activation: Activation, share: float) -> list[nn.Module]:
    if not share:
        return []
    facts = facts_of(activation) if isinstance(activation, str) else declared_by(activation)
    return [nn.AlphaDropout(share) if facts.alpha_dropout or activation is nn.SELU else nn.Dropout(share)]


def _shares(dropout: float | Sequence[float], count: int, of_what: str) -> list[float]:
    shares = list(dropout) if isinstance(dropout, Sequence) else [dropout] * count
    if len(shares) != count:
        raise ValueError(
            f"dropout must be one number, or one for each of the {count} {of_what}, got {len(shares)}"
        )
    for share in shares:
        if not (is_number(share) and 0 <= share < 1):
            raise ValueError(f"dropout must be from 0 to below 1, got {share!r}")
    return shares


def linear_maps(
    kind: Callable[..., nn.Linear | nn.Conv2d | MemberLinear],
    weights: Weights,
    generator: torch.Generator | None,
    **options: Any,
) -> Callable[[int, int], nn.Module]:
    """Makes linear maps that start with a uniform distribution and biases of 0."""
    if weights not in ("he", "lecun"):
        raise ValueError(f"weights must be 'he' or 'lecun', got {weights!r}")
    # As torch calls 2 / fan_in and 1 / fan_in.
    variance_of: Literal["relu", "linear"] = "relu" if weights == "he" else "linear"

    def started(inputs: int, outputs: int) -> nn.Module:
        if inputs * outputs > MOST_WEIGHTS:
            raise ValueError(
                f"a linear map of {inputs:,} to {outputs:,} values would have {inputs * outputs:,} weights, "
                f"at most {MOST_WEIGHTS:,} are possible: choose smaller layers"
            )
        # torch's constructors draw from the global generator, which is nobody's business if one was given.
        with torch.random.fork_rng(devices=[], enabled=generator is not None):
            made = kind(inputs, outputs, **options)
        nn.init.kaiming_uniform_(made.weight, nonlinearity=variance_of, generator=generator)
        nn.init.zeros_(made.bias)  # type: ignore[arg-type]
        return made

    return started
