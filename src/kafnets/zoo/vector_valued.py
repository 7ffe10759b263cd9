"""Activations with several outputs per neuron, or that depend on neighboring neurons."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.activation import Activation, ByChannel
from kafnets.ops.fixed_functions import TORCH_FUNCTIONS
from kafnets.registry import Facts, register
from kafnets.starts import Function, check_function


@register("crelu")
class CReLU(Activation):
    r"""The positive part and the negative part, :math:`\max\{0, s\}` and :math:`\max\{0, -s\}`.

    All positive parts precede all negative ones, so N channels become 2 N.

    Args:
        num_features: N, the number of channels along ``dim``; 1: any number of them.
    """

    facts: ClassVar[Facts] = Facts(
        family="vector_valued",
        source="Shang et al., 2016",
        formula="max(0, s) and max(0, -s)",
        smooth=False,
        plottable=True,
    )

    def __init__(self, num_features: int = 1, *, dim: int = 1, inplace: bool = False) -> None:
        super().__init__(num_features, dim)

    @property
    def out_features(self) -> int:
        """Twice the number of channels."""
        return 2 * self.num_features

    def compute(self, s: Tensor, dim: int) -> Tensor:
        return torch.cat([s.relu(), (-s).relu()], dim)

    def compute_shared(self, input: Tensor) -> Tensor:
        return self.compute(input, self.dim)


@register("order_statistic")
class OrderStatistic(Activation):
    r"""Groups of neighbors in descending order, :math:`s_{(1)} \ge s_{(2)} \ge \ldots`.

    Args:
        num_features: N, the number of channels along ``dim``, a multiple of ``group_size``.
        group_size: the number of neighbors that are sorted.
    """

    facts: ClassVar[Facts] = Facts(
        family="vector_valued",
        source="Rennie et al., 2014",
        formula="neighbors, sorted",
        smooth=False,
        plottable=True,
        arity=2,
        hyperparameter="group_size",
    )
    _shown = ("group_size",)
    sharable: ClassVar[bool] = False

    def __init__(self, num_features: int, *, group_size: int = 2, dim: int = 1) -> None:
        super().__init__(num_features, dim)
        check_integer("group_size", group_size)
        if num_features % group_size:
            raise ValueError(
                f"num_features must be a multiple of group_size={group_size}, got {num_features}"
            )
        self.group_size = group_size

    def compute(self, s: Tensor, dim: int) -> Tensor:
        axis = dim % s.dim()
        groups = s.unflatten(axis, (-1, self.group_size))
        return groups.sort(axis + 1, descending=True).values.flatten(axis, axis + 1)


@register("multi_bias")
class MultiBias(ByChannel):
    r"""One function with K biases, :math:`g(s + b_k)`.

    N channels become K N, with the outputs of each channel next to each other. The biases are initialized
    equispaced from -1 to 1 (the initialization of the original is unknown). Weight decay does not apply.

    Args:
        num_features: N, the number of channels along ``dim``.
        biases: K.
        function: g, the name of a fixed function, or a function of a tensor.

    Attributes:
        bias: the :math:`b_k`, a parameter ``(biases, num_features)``.
    """

    facts: ClassVar[Facts] = Facts(
        family="vector_valued",
        source="Li et al., 2016",
        formula="g(s + b_1), ..., g(s + b_K)",
        parameters="biases",
        smooth=False,
        local="partially",
        regularization="no",
        plottable=True,
        hyperparameter="biases",
    )
    undecayed_parameters = ("bias",)
    _shown = ("biases",)
    sharable: ClassVar[bool] = False

    def __init__(
        self,
        num_features: int,
        *,
        biases: int = 4,
        function: Function = "relu",
        dim: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim)
        check_integer("biases", biases)
        check_function(function, "function")
        self.biases = biases
        self.function = function
        self.bias = nn.Parameter(torch.empty(biases, num_features, device=device, dtype=dtype))
        self.reset_parameters()

    @property
    def out_features(self) -> int:
        """K times the number of channels."""
        return self.biases * self.num_features

    def reset_parameters(self) -> None:
        """Reset the parameters."""
        with torch.no_grad():
            places = torch.linspace(-1, 1, self.biases) if self.biases > 1 else torch.zeros(1)
            self.bias.copy_(places[:, None].expand_as(self.bias))

    def activate(self, s: Tensor, dim: int) -> Tensor:
        function = TORCH_FUNCTIONS[self.function] if isinstance(self.function, str) else self.function
        axis = dim % s.dim()
        bias = self.along(self.bias, s, dim).movedim(0, axis + 1)
        return function(s.unsqueeze(axis + 1) + bias).flatten(axis, axis + 1)


@register("network_in_network")
class NetworkInNetwork(Activation):
    r"""A small network across the channels, with layers :math:`h \mapsto \max\{0, W h + b\}`.

    After a convolution, this is the mlpconv layer: a ReLU, then for each width a linear map across the
    channels, the same at every position, and a ReLU.

    Args:
        num_features: N, the number of channels along ``dim``.
        widths: of the layers; the last one is the number of channels of the output. None: two of N.
    """

    facts: ClassVar[Facts] = Facts(
        family="vector_valued",
        source="Lin et al., 2013",
        formula="ReLU network across the channels",
        parameters="2 * (num_features + 1)",
        smooth=False,
        local="no",
        regularization="yes",
        plottable=False,
        hyperparameter="widths",
    )
    sharable: ClassVar[bool] = False

    def __init__(
        self,
        num_features: int,
        *,
        widths: Sequence[int] | None = None,
        dim: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, dim)
        self.widths = (num_features,) * 2 if widths is None else tuple(widths)
        if not self.widths:
            raise ValueError("widths must hold one number or more, or be None")
        for width in self.widths:
            check_integer("widths", width)
        sizes = zip((num_features, *self.widths), self.widths, strict=False)
        self.layers = nn.ModuleList(nn.Linear(a, b, device=device, dtype=dtype) for a, b in sizes)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Reset the parameters: He's uniform distribution for weights, and 0 for biases."""
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            nn.init.zeros_(layer.bias)

    @property
    def out_features(self) -> int:
        """The last width."""
        return self.widths[-1]

    def compute(self, s: Tensor, dim: int) -> Tensor:
        h = s.movedim(dim, -1).relu()
        for layer in self.layers:
            h = layer(h).relu()
        return h.movedim(-1, dim)
