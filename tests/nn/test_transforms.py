"""torch's machinery around the modules: compile, export, func, checkpointing, several processes."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from kafnets import KAF, KAF2D, Gaussian, Polynomial

MODULES: list[Any] = [
    pytest.param(lambda: KAF(6), id="KAF"),
    pytest.param(lambda: KAF(6, kernel=Gaussian(learn_gamma="neuron")), id="KAF-learned"),
    pytest.param(lambda: KAF(6, kernel=Polynomial()), id="KAF-polynomial"),
    pytest.param(lambda: KAF2D(6), id="KAF2D"),
]


def gradients(module: nn.Module, function: Any, s: Tensor) -> list[Tensor]:
    s = s.clone().requires_grad_()
    result = function(s)
    return [result, *torch.autograd.grad(result.square().sum(), [s, *module.parameters()])]


@pytest.mark.parametrize("build", MODULES)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_in_one_graph(build: Any, backend: str) -> None:
    if backend == "inductor" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("torch.compile needs a C++ compiler for the CPU")
    torch.compiler.reset()
    module = build().double()
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for s in (torch.randn(5, 6).double(), torch.randn(9, 6, 4).double()):
        torch.testing.assert_close(gradients(module, compiled, s), gradients(module, module, s))


@pytest.mark.parametrize("build", MODULES)
def test_export_with_a_free_batch(build: Any) -> None:
    module = build()
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(module, (torch.randn(5, 6),), dynamic_shapes=({0: batch},))
    s = torch.randn(11, 6)
    torch.testing.assert_close(program.module()(s), module(s))


@pytest.mark.parametrize("build", MODULES)
def test_function_transforms(build: Any) -> None:
    module = build().double()
    parameters = dict(module.named_parameters())
    s = torch.randn(5, 6, dtype=torch.float64)

    def loss(parameters: dict[str, Tensor], s: Tensor) -> Tensor:
        return torch.func.functional_call(module, parameters, (s.unsqueeze(0),)).square().sum()

    _, _, *expected = gradients(module, module, s)
    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, s)
    for name, reference in zip(parameters, expected, strict=True):
        torch.testing.assert_close(per_sample[name].sum(0), reference)

    def plain(s: Tensor) -> Any:
        return module(s.unsqueeze(0)).squeeze(0)

    backward = torch.func.vmap(torch.func.jacrev(plain))(s)
    forward = torch.func.vmap(torch.func.jacfwd(plain))(s)
    assert backward.abs().sum() > 0
    torch.testing.assert_close(forward, backward)
    tangent: Any = torch.func.jvp(plain, (s[0],), (torch.ones_like(s[0]),))[1]
    torch.testing.assert_close(tangent, backward[0].sum(-1))
    hessian = torch.func.hessian(lambda s: plain(s).square().sum())(s[0])
    twice = torch.autograd.functional.hessian(lambda s: plain(s).square().sum(), s[0])
    torch.testing.assert_close(hessian, twice)


@pytest.mark.parametrize("build", MODULES)
def test_forward_mode(build: Any) -> None:
    module, s = build().double(), torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    (by_s,) = torch.autograd.grad(module(s).sum(), s)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(s.detach(), torch.ones(5, 6, dtype=torch.float64))
        tangent = torch.autograd.forward_ad.unpack_dual(module(dual)).tangent
    assert tangent is not None
    torch.testing.assert_close(tangent.sum(), by_s.sum())


@pytest.mark.parametrize("build", MODULES)
def test_ensembles_by_vmap_over_parameters(build: Any) -> None:
    models = [build() for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    s = torch.randn(5, 6)
    together = torch.func.vmap(
        lambda p, b: torch.func.functional_call(models[0], (p, b), (s,)), randomness="error"
    )(parameters, buffers)
    torch.testing.assert_close(together, torch.stack([model(s) for model in models]))


@pytest.mark.parametrize("build", MODULES)
def test_gradient_checkpointing(build: Any) -> None:
    module, s = build(), torch.randn(5, 6)
    lean = gradients(module, lambda s: checkpoint(module, s, use_reentrant=False), s)
    torch.testing.assert_close(lean, gradients(module, module, s))


def _train_one_step(rank: int, world_size: int, folder: str) -> None:
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(f"{folder}/store", world_size)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
    model, s = _small_network()
    parallel = nn.parallel.DistributedDataParallel(model)
    parallel(s.chunk(world_size)[rank]).square().mean().backward()
    if rank == 0:
        torch.save([parameter.grad for parameter in model.parameters()], f"{folder}/gradients.pt")
    torch.distributed.barrier()  # neither process may leave while the other still talks to it
    torch.distributed.destroy_process_group()


def _small_network() -> tuple[nn.Module, Tensor]:
    generator = torch.Generator().manual_seed(0)
    kaf = KAF(4, kernel=Gaussian(learn_gamma=True), generator=generator)
    linear = nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.fill_(0.5)
        linear.bias.fill_(0.1)
    return nn.Sequential(kaf, KAF2D(4, generator=generator), linear), torch.randn(8, 4, generator=generator)


def test_two_processes_give_the_single_process_gradients(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_train_one_step, args=(2, str(tmp_path)), nprocs=2)
    model, s = _small_network()
    model(s).square().mean().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    torch.testing.assert_close(torch.load(tmp_path / "gradients.pt", weights_only=True), expected)
