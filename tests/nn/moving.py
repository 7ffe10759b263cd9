"""Networks whose dictionaries are moved."""

from typing import Any

import torch
from torch import Tensor, nn

from kafnets import KAF, KAF2D, EdgewiseKAF, Gaussian


def normal(*shape: int, std: float = 2.0, seed: int = 0) -> Tensor:
    return std * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seeded(kind: type[Any], *arguments: Any, **options: Any) -> Any:
    return kind(*arguments, generator=torch.Generator().manual_seed(1), **options)


def mlp(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    net: Any = nn.Sequential(
        nn.Linear(6, 32),
        seeded(KAF, 32, init="tanh"),
        nn.Linear(32, 8),
        seeded(KAF2D, 8, init="tanh"),
        nn.Linear(4, 3),
        seeded(KAF, 3, kernel=Gaussian(learn_gamma="neuron"), init="elu"),
        seeded(EdgewiseKAF, 3, 2),
    )
    with torch.no_grad():
        net[0].weight.mul_(3)
    return net


def state(model: nn.Module) -> dict[str, Any]:
    expansions = {
        name: module.expansion for name, module in model.named_modules() if hasattr(module, "expansion")
    }
    modes = {name: module.training for name, module in model.named_modules()}
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    return {"tensors": tensors, "expansions": expansions, "modes": modes}


def assert_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert before["expansions"] == after["expansions"]
    assert before["modes"] == after["modes"]
    for name, tensor in before["tensors"].items():
        assert torch.equal(tensor, after["tensors"][name]), name
