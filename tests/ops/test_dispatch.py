"""What runs when, and that all of it agrees."""

import subprocess
import sys
import warnings
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import kafnets
from kafnets import KAF, KAF2D, Gaussian, Polynomial
from kafnets.ops import backends, native, operator, recorded
from kafnets.ops.dispatch import choose
from kafnets.ops.formula import FORMULAS, Settings
from kafnets.ops.plain import PORTABLE

needs_native = pytest.mark.skipif(native.kernels is None, reason="the native kernels were not built")
MODULES: list[Any] = [
    pytest.param(lambda **k: KAF(6, **k), id="KAF"),
    pytest.param(lambda **k: KAF2D(6, **k), id="KAF2D"),
]
LEARNED: list[Any] = [
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma=True)), id="KAF, one bandwidth"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), id="KAF, bandwidths"),
]


def chosen(module: Any, s: Tensor) -> str:
    """What runs: the name of a native kernel, or of another way."""
    formula = module._formula
    gamma = module.gamma if formula.learned else None
    runner = choose(formula, s, formula.table(module.alpha, None, gamma))
    ways = {
        id(None): "composite",
        id(operator): "operator",
        id(PORTABLE): "portable",
        id(recorded): "recorded",
    }
    return ways.get(id(runner)) or formula.kernel


def all_gradients(module: nn.Module, s: Tensor) -> list[Tensor]:
    result = module(s)
    return [result, *torch.autograd.grad(result.square().sum(), [s, *module.parameters()])]


@needs_native
def test_the_native_kernels_are_chosen_where_they_can_run() -> None:
    s = torch.randn(3, 6)
    assert chosen(KAF(6), s) == "kaf"
    assert chosen(KAF2D(6), s.bfloat16()) == "kaf2d"
    assert chosen(KAF(6, kernel=Polynomial()), s) == "portable"
    assert chosen(KAF(6, kernel=Gaussian(learn_gamma=True)), s) == "kaf_by_bandwidth"
    assert chosen(KAF2D(6, kernel=Gaussian(learn_gamma=True)), s) == "portable"
    uneven = KAF(6, kernel=Gaussian(1.0, learn_gamma=True), dictionary=[0.0, 1.0, 3.0])
    assert chosen(uneven, s) == "portable"
    assert chosen(KAF(6, kernel=Gaussian(1.0), dictionary=[0.0, 1.0, 3.0]), s) == "portable"
    assert chosen(KAF(6, kernel=Gaussian(1e30)), s) == "portable"
    assert chosen(KAF(6), s.to("meta")) == "composite"
    with torch.autograd.forward_ad.dual_level():
        assert chosen(KAF(6), s) == "recorded"
        assert chosen(KAF2D(6), s) == chosen(KAF(6, kernel=Gaussian(learn_gamma=True)), s) == "composite"
    assert kafnets.backend().name == "cpu"
    assert "native kernels for" in str(kafnets.backend())
    assert kafnets.backend("mps").reason == "there are no fused kernels for mps devices"


@needs_native
@pytest.mark.parametrize("build", [*MODULES, *LEARNED])
def test_all_backends_agree(build: Any) -> None:
    module = build()
    s = torch.randn(40, 6, requires_grad=True)
    with kafnets.use_backend("composite"):
        expected = all_gradients(module, s)
    for name in ("cpu", "portable", "auto"):
        with kafnets.use_backend(name):
            assert kafnets.backend().name == ("cpu" if name == "auto" else name)
            torch.testing.assert_close(all_gradients(module, s), expected, rtol=1e-4, atol=1e-4)
    assert backends.asked == "auto"


def test_forcing_what_cannot_run_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"backend must be one of 'auto', 'cpu',.*got 'gpu'"):
        kafnets.set_backend("gpu")
    with monkeypatch.context() as patch:
        patch.setattr(native, "loaded", native.Loaded(None, "the native kernels were not built"))
        with pytest.raises(RuntimeError, match="'cpu' cannot run here: the native kernels were not built"):
            kafnets.set_backend("cpu")
        patch.setattr(backends, "triton_obstacle", lambda: "the package triton is not installed")
        with pytest.raises(RuntimeError, match="'triton' cannot run here: the package triton is not"):
            kafnets.set_backend("triton")
    assert backends.asked == "auto"


@needs_native
def test_forcing_a_backend_on_what_it_cannot_do_raises() -> None:
    with (
        kafnets.use_backend("cpu"),
        pytest.raises(RuntimeError, match=r"cannot run this.*moderate gamma"),
    ):
        KAF(6, kernel=Polynomial())(torch.randn(2, 6))
    with (
        kafnets.use_backend("cpu"),
        pytest.raises(RuntimeError, match=r"can be learned for KAF on the CPU only"),
    ):
        KAF2D(6, kernel=Gaussian(learn_gamma=True))(torch.randn(2, 6))


def test_without_native_kernels_it_runs_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, s = KAF(6), torch.randn(20, 6, requires_grad=True)
    expected = all_gradients(module, s)
    monkeypatch.setattr(native, "kernels", None)
    monkeypatch.setattr(native, "loaded", native.Loaded(None, "the native kernels were not built"))
    backends.warn_once_without_native_kernels.cache_clear()
    with pytest.warns(UserWarning, match=r"portable backend.*were not built.*set_backend"):
        result = all_gradients(module, s)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(s)
    assert kafnets.backend() == kafnets.Backend("portable", "the native kernels were not built")


@needs_native
def test_set_backend_lasts() -> None:
    try:
        kafnets.set_backend("portable")
        assert chosen(KAF(6), torch.randn(2, 6)) == "portable"
    finally:
        kafnets.set_backend("auto")


SETTINGS: dict[str, Settings] = {
    "kaf": (-2.0, 1.0, 0.7, 0.0, 0.0),
    "kaf2d": (-2.0, 1.0, 0.7, 0.0, 0.0),
    "kaf_by_bandwidth": (-2.0, 1.0, 0.0, 0.0, 0.0),
    "hinges": (1.0, 1.0, 0.0, 0.0, 0.0),
    "powers": (0.0, 0.0, 0.0, 0.0, 0.0),
    "hermite": (0.0, 0.0, 0.0, 0.0, 0.0),
    "cubics": (-2.0, 1.0, 0.0, 0.0, 0.0),
    "bells": (0.7, 0.0, 0.0, 0.0, 0.0),
    "kaf_slopes": (-2.0, 1.0, 0.7, 2.0, 1.0),
    "kaf_slopes_by_bandwidth": (-2.0, 1.0, 0.0, 0.0, 2.0),
}


@needs_native
def test_settings_are_given_for_every_kernel() -> None:
    forward_only = {"baked"}  # its operator is tested in tests/nn/test_baked.py
    assert set(SETTINGS) == set(native.Kernels.KINDS) - forward_only == set(FORMULAS) - forward_only


COMPILED = {("kaf", (5, 6)), ("kaf", (0, 6)), ("kaf2d", (5, 6)), ("kaf2d", (0, 6))}
"""What is also compiled with symbolic sizes, beside every kernel on images: shapes have one rule for KAFs and
all others, and another one for 2D-KAFs."""
WITHOUT_COMPILING = ("test_schema", "test_autograd_registration", "test_faketensor")


@needs_native
@pytest.mark.parametrize("shape", [(5, 6), (0, 6), (2, 6, 4)])
@pytest.mark.parametrize(
    ("kernel", "settings"),
    [*SETTINGS.items(), ("kaf", (-2.0, 1.0, 0.7, 2.0, 6.0))],  # with tails and a base
)
def test_operators_are_registered_properly(shape: tuple[int, ...], kernel: str, settings: Settings) -> None:
    s = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    neurons, table = (3, (5, 5)) if kernel == "kaf2d" else (6, (8,))
    coefficients = torch.randn(neurons, *table, dtype=torch.float64)
    if kernel.endswith("by_bandwidth"):
        coefficients[:, -1] = 0.7
    arguments = (s, coefficients.requires_grad_(), kernel, settings, 1)
    upstream = torch.randn(shape[0], neurons, *shape[2:], dtype=torch.float64, requires_grad=True)
    compiled = ("test_aot_dispatch_dynamic",) if len(shape) == 3 or (kernel, shape) in COMPILED else ()
    for checked, given in ((operator._apply, arguments), (operator.gradients, (upstream, *arguments))):
        torch.library.opcheck(checked, given, test_utils=(*WITHOUT_COMPILING, *compiled))


@needs_native
@pytest.mark.parametrize("build", MODULES)
def test_operators_have_second_derivatives(build: Any) -> None:
    module = build(dictionary_size=4).double()
    formula = module._formula

    def function(s: Tensor, alpha: Tensor) -> Tensor:
        return operator.apply(s, alpha, formula.kernel, formula.settings, 1)

    s = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    alpha = module.alpha.detach().requires_grad_()
    assert torch.autograd.gradcheck(function, (s, alpha))
    assert torch.autograd.gradgradcheck(function, (s, alpha))


@needs_native
@pytest.mark.parametrize("build", MODULES)
def test_operators_under_vmap(build: Any) -> None:
    modules = [build() for _ in range(3)]
    formula = modules[0]._formula
    s, alphas = torch.randn(3, 5, 6), torch.stack([module.alpha.detach() for module in modules])

    def function(s: Tensor, alpha: Tensor) -> Tensor:
        return operator.apply(s, alpha, formula.kernel, formula.settings, -1)

    for in_dims in ((0, None), (None, 0), (0, 0)):
        inputs = (s if in_dims[0] == 0 else s[0], alphas if in_dims[1] == 0 else alphas[0])
        together = torch.func.vmap(function, in_dims=in_dims)(*inputs)
        alone = [
            function(s[i] if in_dims[0] == 0 else s[0], alphas[i] if in_dims[1] == 0 else alphas[0])
            for i in range(3)
        ]
        torch.testing.assert_close(together, torch.stack(alone))


NATIVE: list[Any] = [
    *MODULES,
    *LEARNED,
    *(
        pytest.param(partial(kafnets.create, name, 6), id=name)
        for name in ("apl", "srelu", "paf", "hermite", "saf")
    ),
]


@needs_native
@pytest.mark.parametrize("build", NATIVE)
def test_compiled_graphs_hold_one_operator_and_exported_ones_none(build: Any) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    module: nn.Module = build()
    torch.compile(module, fullgraph=True, backend=keep)(torch.randn(5, 6))
    assert len(graphs) == 1
    assert graphs[0].code.count("kafnets.apply") == 1
    program = torch.export.export(build(), (torch.randn(5, 6),))
    assert "kafnets" not in program.graph_module.code


@needs_native
@pytest.mark.parametrize("build", NATIVE)
def test_tracers_see_the_operator(build: Any) -> None:
    module, s = build(), torch.randn(5, 6)
    graph = make_fx(module)(s)
    other = torch.randn(5, 6)
    torch.testing.assert_close(graph(other), module(other))
    assert graph.code.count("kafnets.apply") == 1


def test_jit_trace_is_not_a_constant() -> None:
    module, s = KAF(6), torch.randn(5, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced: Any = torch.jit.trace(module, s)
    other = torch.randn(5, 6)
    torch.testing.assert_close(traced(other), module(other), rtol=1e-4, atol=1e-5)


@needs_native
def test_frozen_parts_get_no_gradient_and_cost_none() -> None:
    kaf, s = KAF(6), torch.randn(5, 6, requires_grad=True)
    kaf.alpha.requires_grad_(False)
    kaf(s).sum().backward()
    assert kaf.alpha.grad is None
    assert s.grad is not None
    kaf.alpha.requires_grad_(True)
    kaf(s.detach()).sum().backward()
    assert kaf.alpha.grad is not None
    with torch.inference_mode():
        assert kaf(s).grad_fn is None


@needs_native
def test_only_the_input_is_kept() -> None:
    kaf, s = KAF(64), torch.randn(128, 64, requires_grad=True)
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    for name in ("cpu", "portable"):
        kept.clear()
        with kafnets.use_backend(name), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            kaf(s)
        assert sum(tensor.numel() for tensor in kept) == s.numel() + kaf.alpha.numel()


@needs_native
def test_reentrant_checkpointing() -> None:
    kaf, s = KAF(6), torch.randn(5, 6, requires_grad=True)
    checkpoint(kaf, s, use_reentrant=True).sum().backward()
    (expected,) = torch.autograd.grad(kaf(s).sum(), s)
    torch.testing.assert_close(s.grad, expected)


def test_installed_without_a_compiler_it_imports_and_runs() -> None:
    """What an installation without native modules does, by hiding them."""
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if '._cpu_' in name: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "import torch, kafnets\n"
        "x = torch.randn(4, 8, requires_grad=True)\n"
        "kafnets.KAF(8)(x).sum().backward()\n"
        "print(kafnets.backend())\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.startswith("portable: the native kernels were not built")
