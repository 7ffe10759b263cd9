"""The modules: KAF and 2D-KAF."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from kafnets import ops, reference
from kafnets.kernels import Gamma, Gaussian, Kernel
from kafnets.nn.activation import Activation, check_whole
from kafnets.nn.initializers import Basis, Initializer, Normal, Ridge, fill_by_neuron_
from kafnets.nn.presets import Preset, find_preset
from kafnets.registry import Facts, register

Init = Initializer | str | Sequence[Initializer | str] | None


class _Expansion(Activation):
    """What the expansions share: dictionary, kernel and bandwidth, coefficients, checks."""

    mixing_parameters: ClassVar[tuple[str, ...]] = ("alpha",)
    undecayed_parameters: ClassVar[tuple[str, ...]] = ("log_gamma",)

    dictionary: Tensor

    def __init__(
        self,
        num_features: int,
        *,
        neurons: int,
        dimensions: int,
        dictionary_size: int,
        boundary: float | None,
        kernel: Kernel | None,
        init: Init,
        dim: int,
        dictionary: ArrayLike | Tensor | None,
        preset: str,
        generator: torch.Generator | None,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(num_features, dim)
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(f"dtype must be a floating-point type, such as torch.float32, got {dtype!r}")
        chosen = find_preset(preset)
        self.kernel = Gaussian() if kernel is None else kernel
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                "kernel must be an instance of a kernel, such as kafnets.Gaussian() or kafnets.Polynomial(), "
                f"got {kernel!r}"
            )
        self.init = _resolve_init(init, chosen, neurons)
        self._dimensions = dimensions
        # Kept in float64 whatever the module's dtype becomes, so that no value is rounded twice.
        self._exact_dictionary = resolve_dictionary(
            dictionary, dictionary_size, chosen.boundary if boundary is None else boundary
        )
        self._grid = ops.Grid.of(self._exact_dictionary)
        self._first_gamma = self._resolve_gamma(chosen)
        size = len(self._exact_dictionary)
        self.alpha = nn.Parameter(torch.empty(neurons, *[size] * dimensions, device=device, dtype=dtype))
        self.register_buffer("dictionary", torch.empty(size, device=device, dtype=dtype))
        learn_gamma = isinstance(self.kernel, Gaussian) and self.kernel.learn_gamma
        self._learns_gamma = bool(learn_gamma)
        self._fusable = not learn_gamma and ops.can_be_fused(self.kernel, self._first_gamma, self._grid)
        shape = (neurons,) if learn_gamma == "neuron" else ()
        self.log_gamma = nn.Parameter(torch.empty(shape, device=device, dtype=dtype)) if learn_gamma else None
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start again: coefficients by ``init``, bandwidth and dictionary as constructed."""
        basis = Basis(self._exact_dictionary, self.kernel, self._first_gamma, self._dimensions)
        with torch.no_grad():
            fill_by_neuron_(self.alpha, self.init, basis, generator)
            if self.log_gamma is not None:
                assert self._first_gamma is not None
                self.log_gamma.fill_(float(np.log(self._first_gamma)))
        self._restore_dictionary()

    @property
    def dictionary_size(self) -> int:
        """D, the number of dictionary elements (along each axis)."""
        return len(self._exact_dictionary)

    def _tensors(self) -> tuple[Tensor, Tensor]:
        """Coefficients and dictionary. Asking a module for its attributes shows where a policy acts."""
        alpha, dictionary = self._parameters.get("alpha"), self._buffers.get("dictionary")
        # Under a parametrisation they are somewhere else.
        return self.alpha if alpha is None else alpha, self.dictionary if dictionary is None else dictionary

    @property
    def gamma(self) -> Gamma:
        """The bandwidth: a number if fixed, a tensor if learned, None for kernels without one."""
        if not self._learns_gamma:
            return self._first_gamma
        assert self.log_gamma is not None
        dtype = torch.promote_types(self.log_gamma.dtype, torch.float32)
        return self.log_gamma.to(dtype).exp()

    def _resolve_gamma(self, preset: Preset) -> float | None:
        if not isinstance(self.kernel, Gaussian):
            return None
        if self.kernel.gamma is not None:
            return float(self.kernel.gamma)
        return reference.bandwidth_rule_of_thumb(
            reference.spacing(self._exact_dictionary),
            dimensions=self._dimensions,
            divisor=preset.bandwidth_divisor,
        )

    def _restore_dictionary(self) -> None:
        """Write the exact dictionary into the buffer.

        The buffer is float32 at least: in half precision its elements would move by more than the
        result's own rounding.
        """
        dtype = torch.promote_types(self.alpha.dtype, torch.float32)
        if self.dictionary.dtype != dtype:
            self.dictionary = self.dictionary.to(dtype)
        with torch.no_grad():
            self.dictionary.copy_(torch.from_numpy(self._exact_dictionary))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._restore_dictionary()
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        stored = state_dict.get(prefix + "dictionary")
        if stored is not None and not stored.is_meta and stored.shape == self.dictionary.shape:
            values = stored.detach().double().cpu().numpy()
            scale = np.abs(self._exact_dictionary).max()
            if np.abs(values - self._exact_dictionary).max() > 1e-5 * scale:
                errors: list[str] = args[-1]
                errors.append(
                    f"{prefix}dictionary was stored with values from {values[0]:g} to {values[-1]:g}, "
                    f"but this module was built with values from {self._exact_dictionary[0]:g} to "
                    f"{self._exact_dictionary[-1]:g}: build it with the same boundary or dictionary"
                )
        self._restore_dictionary()

    def extra_repr(self) -> str:
        low, high = self._exact_dictionary[[0, -1]]
        gamma = "" if self._first_gamma is None else f", gamma={self._first_gamma:.4g}"
        if self.log_gamma is not None:
            gamma += " at first"
        return (
            f"{self.num_features}, dictionary_size={self.dictionary_size} in [{low:g}, {high:g}], "
            f"kernel={type(self.kernel).__name__}{gamma}, dim={self.dim}"
        )


@register("kaf")
class KAF(_Expansion):
    r"""Kernel activation function: each channel learns its own :math:`g(s) = \sum_i \alpha_i \kappa(s, d_i)`.

    Use it as you would ``nn.PReLU(num_features)``::

        net = nn.Sequential(nn.Linear(18, 300), KAF(300), nn.Linear(300, 1))

    Shape: input ``(B, N)``, ``(B, N, L)``, ``(B, N, H, W)``, ... with ``dim=1``; ``(..., N)`` with
    ``dim=-1``. The output has the input's shape, dtype and memory layout; half precision is
    computed in float32. Where the arguments are None, the preset's values are taken.

    Args:
        num_features: N, the number of channels along ``dim``.
        dictionary_size: D, the number of dictionary elements, equispaced.
        boundary: the dictionary reaches from ``-boundary`` to ``boundary``. None: 3.0, as the paper.
        kernel: None: ``Gaussian()`` with the paper's rule of thumb for its bandwidth.
        init: first values of the coefficients. None: ``Normal()``, the paper's. A name such as
            ``"tanh"`` stands for ``Ridge("tanh")`` with the preset's ridge factor. A sequence gives one
            initialiser a neuron: ``[Ridge("tanh")] * 32 + [Normal()] * 32``.
        dim: the channel axis.
        dictionary: strictly increasing values to use in place of the equispaced ones;
            ``dictionary_size`` and ``boundary`` then do not count.
        preset: ``"paper"``, or ``"authors_code"`` for the authors' published code, which has bandwidth
            :math:`1 / (8 \Delta^2)`, boundary 4, coefficient spread 0.8 and ridge factor 1e-4.
        generator: source of the random first values; torch's default one if None.

    Attributes:
        alpha: the mixing coefficients, a parameter ``(num_features, dictionary_size)``.
        dictionary: a buffer ``(dictionary_size,)``.
        log_gamma: the logarithm of a learned bandwidth, ``()`` or ``(num_features,)``, else None.
    """

    facts = Facts(
        family="expansions",
        source="Scardapane et al., 2017",
        formula="Σ_i α_i κ(s, d_i)",
        parameters="dictionary_size",
        smooth=True,
        local="yes",
        regularization="yes",
        plottable=True,
        hyperparameter="dictionary_size",
    )

    def __init__(
        self,
        num_features: int,
        *,
        dictionary_size: int = 20,
        boundary: float | None = None,
        kernel: Kernel | None = None,
        init: Init = None,
        dim: int = 1,
        dictionary: ArrayLike | Tensor | None = None,
        preset: str = "paper",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_whole("num_features", num_features)
        super().__init__(
            num_features,
            neurons=num_features,
            dimensions=1,
            dictionary_size=dictionary_size,
            boundary=boundary,
            kernel=kernel,
            init=init,
            dim=dim,
            dictionary=dictionary,
            preset=preset,
            generator=generator,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        return ops.kaf(
            input,
            *self._tensors(),
            kernel=self.kernel,
            gamma=self.gamma,
            dim=self.dim,
            grid=self._grid,
            fusable=self._fusable,
        )


@register("kaf2d")
class KAF2D(_Expansion):
    r"""Two-dimensional KAF: each pair of neighbouring channels becomes one learned function of both.

    .. math:: g(s_{2k}, s_{2k+1}) = \sum_{i,j} \alpha_{k,i,j} \, \kappa((s_{2k}, s_{2k+1}), (d_i, d_j))

    The channel axis halves, so the next layer takes ``num_features // 2``::

        net = nn.Sequential(nn.Linear(18, 300), KAF2D(300), nn.Linear(150, 1))

    Arguments as for :class:`KAF`, with ``num_features`` even and the initialisers given one a pair;
    ``alpha`` is ``(num_features // 2, dictionary_size, dictionary_size)``. The rule of thumb for the
    bandwidth is multiplied by :math:`\sqrt 2`. Kernels without a two-dimensional form are refused.
    """

    facts = Facts(
        family="expansions",
        source="Scardapane et al., 2017",
        formula="Σ_ij α_ij κ((s, t), (d_i, d_j))",
        parameters="dictionary_size**2 / 2",
        smooth=True,
        local="yes",
        regularization="yes",
        plottable=True,
        arity=2,
        hyperparameter="dictionary_size",
    )

    def __init__(
        self,
        num_features: int,
        *,
        dictionary_size: int = 10,
        boundary: float | None = None,
        kernel: Kernel | None = None,
        init: Init = None,
        dim: int = 1,
        dictionary: ArrayLike | Tensor | None = None,
        preset: str = "paper",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_whole("num_features", num_features)
        if num_features % 2:
            raise ValueError(
                f"num_features must be even, since a 2D-KAF pairs neighbouring channels, got {num_features}"
            )
        if isinstance(kernel, Kernel) and kernel.refusal_2d is not None:
            raise ValueError(
                f"kernel {type(kernel).__name__} has no two-dimensional form: {kernel.refusal_2d}. "
                "Use Gaussian, Polynomial or Periodic"
            )
        super().__init__(
            num_features,
            neurons=num_features // 2,
            dimensions=2,
            dictionary_size=dictionary_size,
            boundary=boundary,
            kernel=kernel,
            init=init,
            dim=dim,
            dictionary=dictionary,
            preset=preset,
            generator=generator,
            device=device,
            dtype=dtype,
        )

    @property
    def out_features(self) -> int:
        """Half the number of channels."""
        return self.num_features // 2

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        return ops.kaf2d(
            input,
            *self._tensors(),
            kernel=self.kernel,
            gamma=self.gamma,
            dim=self.dim,
            grid=self._grid,
            fusable=self._fusable,
        )


def resolve_dictionary(
    dictionary: ArrayLike | Tensor | None, dictionary_size: int, boundary: float
) -> NDArray[np.float64]:
    """The given values, checked, or equispaced ones."""
    if dictionary is None:
        check_whole("dictionary_size", dictionary_size, 2)
        if not isinstance(boundary, Real):
            raise TypeError(f"boundary must be a positive number, got {boundary!r}")
        return reference.equispaced(dictionary_size, float(boundary))
    if isinstance(dictionary, Tensor):
        dictionary = dictionary.detach().cpu().double().numpy()
    values = np.array(dictionary, dtype=np.float64)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"dictionary must hold two or more values along one axis, got shape {values.shape}")
    if not (np.isfinite(values).all() and (np.diff(values) > 0).all()):
        raise ValueError("dictionary must hold finite values in strictly increasing order")
    return values


def _resolve_init(init: Init, preset: Preset, neurons: int) -> Initializer | tuple[Initializer, ...]:
    if init is None:
        return Normal(preset.std)
    if isinstance(init, str):
        return Ridge(init, preset.ridge_eps)
    if not isinstance(init, Sequence):
        return _checked(init)
    if len(init) != neurons:
        raise ValueError(
            f"init must be one initialiser, or a sequence with one for each of the {neurons} neurons, "
            f"got {len(init)}"
        )
    return tuple(Ridge(one, preset.ridge_eps) if isinstance(one, str) else _checked(one) for one in init)


def _checked(init: Initializer) -> Initializer:
    if not hasattr(init, "fill_") or isinstance(init, type):
        hint = ": to start as a function, give kafnets.Ridge(function)" if callable(init) else ""
        raise TypeError(
            "init must be the name of a function, such as 'elu', or an initialiser, such as "
            f"kafnets.Normal(), got {init!r}{hint}"
        )
    return init
