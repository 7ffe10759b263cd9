"""What the classes declare, found out by measuring."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import kafnets
from kafnets.registry import facts_of, options_of
from tests.zoo.cases import FEATURES, NAMES, activations, build, inputs_of

every = pytest.mark.parametrize("name", NAMES)
ENDS, MIDDLE = 12.0, 1.0


def along_a_line(name: str, module: nn.Module, places: Tensor) -> Tensor:
    """The outputs (places, channels) along a straight line through the inputs, in no special direction."""
    direction = 0.8 + 0.4 * torch.rand(inputs_of(name), generator=torch.Generator().manual_seed(3)).double()
    result: Tensor = module(places[:, None] * direction)
    return result


@every
def test_parameters_a_neuron(name: str) -> None:
    module = build(name)
    attributes = {key: getattr(module, key) for key in dir(module) if not key.startswith("_")}
    a_neuron = eval(facts_of(name).parameters, {}, attributes)
    assert sum(parameter.numel() for parameter in module.parameters()) == a_neuron * FEATURES


@every
def test_smoothness_by_differences(name: str) -> None:
    """Slopes between neighboring places come together as the places do, unless there is a corner."""
    module = build(name)

    def largest_change_of_slope(step: float) -> float:
        places = torch.arange(-4, 4, step, dtype=torch.float64)
        slopes = along_a_line(name, module, places).detach().diff(dim=0) / step
        return float(slopes.diff(dim=0).abs().max())

    shrinks = largest_change_of_slope(1e-3) / largest_change_of_slope(1e-2)
    assert facts_of(name).smooth == (shrinks < 0.2), shrinks


@every
def test_locality_by_moving_parameters(name: str) -> None:
    """Where the output changes when one parameter moves: at no end of the line, at one, at both."""
    module = build(name)
    ends = torch.tensor([-ENDS, ENDS], dtype=torch.float64)
    places = torch.cat([torch.linspace(-3, 3, 61, dtype=torch.float64), ends])
    found: Counter[str] = Counter()
    for change in changes(name, module, places):
        if change.max() > 0:  # not a piece of a maxout that is never the largest
            reached = int((change[-2:] > 1e-3 * change.max()).sum())
            found[("yes", "partially", "no")[reached]] += 1
    if facts_of(name).local is None:
        assert not found
    elif name in WHOLE_RANGE:
        # At the ends the functions saturate, or vanish with all their terms: there is more to see in the
        # middle.
        assert facts_of(name).local == "no"
        assert share_of_the_middle(name, module) > 0.8
    else:
        assert found.most_common(1)[0][0] == facts_of(name).local, found


WHOLE_RANGE = ["hermite", "beta_swish", "maxout", "soft_maxout", "network_in_network", "poly_norm"]


def share_of_the_middle(name: str, module: nn.Module) -> float:
    """How much of [-1, 1] a parameter acts on, the most that any does."""
    places = torch.linspace(-MIDDLE, MIDDLE, 60, dtype=torch.float64)
    acts = (change > 1e-2 * change.max() for change in changes(name, module, places))
    return max(float(share.double().mean()) for share in acts)


def changes(name: str, module: nn.Module, places: Tensor) -> Iterator[Tensor]:
    """For each parameter: by how much the outputs at these places change when it moves."""
    before = along_a_line(name, module, places).detach()
    for parameter in module.parameters():
        flat = parameter.data.view(-1)
        for i in range(flat.numel()):
            saved = flat[i].item()
            flat[i] += 0.1
            yield (along_a_line(name, module, places).detach() - before).abs().amax(1)
            flat[i] = saved


@every
def test_plottable_means_one_input_or_two(name: str) -> None:
    module, s = build(name), activations(name, 20)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda one: module(one[None])[0]))(s)
    inputs_an_output = (jacobian != 0).any(0).sum(1).max()
    assert facts_of(name).plottable == bool(inputs_an_output <= 2)


@every
def test_weight_decay_obeys_what_is_declared(name: str) -> None:
    module = build(name)
    groups = {group["name"]: group["params"] for group in kafnets.param_groups(module, weight_decay=0.1)}
    declared = facts_of(name).regularization
    if declared is None:
        assert not groups
    elif declared in ("no", "own"):
        assert set(groups) == {"undecayed"}
    elif facts_of(name).owns_linear or name == "network_in_network":
        assert "weights" in groups
    else:
        further = any(
            key in getattr(module, "undecayed_parameters", ()) for key, _ in module.named_parameters()
        )
        assert set(groups) == ({"mixing", "undecayed"} if further else {"mixing"})
    if declared == "own":
        assert kafnets.distance_from_start(module).item() > 0


@every
def test_hyperparameter_is_an_option(name: str) -> None:
    facts = facts_of(name)
    assert facts.hyperparameter is None or facts.hyperparameter in options_of(name)
    assert facts.source
    assert facts.formula


def test_the_papers_table_1() -> None:
    rows = {
        "apl": (False, "partially", "l2", True),
        "saf": (True, "yes", "own", True),
        "maxout": (False, "no", "yes", False),
        "kaf": (True, "yes", "yes", True),
        "kaf2d": (True, "yes", "yes", True),
    }
    for name, row in rows.items():
        facts = facts_of(name)
        assert (facts.smooth, facts.local, facts.regularization, facts.plottable) == row
    np.testing.assert_equal(len(NAMES), len(set(NAMES)))
