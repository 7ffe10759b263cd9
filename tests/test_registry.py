"""The registry, and activations of a third party."""

import functools
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

import kafnets
from kafnets import registry
from kafnets.cli import app


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    kafnets.names()  # which loads the package's own
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.fixture
def sine(registered: None) -> None:
    @kafnets.register("sine")
    class Sine(nn.Module):
        def __init__(self, num_features: int) -> None:
            super().__init__()

        def forward(self, s: Tensor) -> Tensor:
            return torch.sin(s)


@pytest.mark.usefixtures("sine")
def test_a_third_partys_activation_is_taken_everywhere() -> None:
    assert "sine" in kafnets.names()
    s = torch.randn(3, 2)
    torch.testing.assert_close(kafnets.create("sine", 2)(s), torch.sin(s))
    assert kafnets.mlp(4, (5, 5), 2, "sine")(torch.randn(7, 4)).shape == (7, 2)
    assert kafnets.cnn(1, 8, 2, 3, "sine", filters=4)(torch.randn(2, 1, 8, 8)).shape == (2, 3)
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 0
    assert "sine" in listed.output


@pytest.mark.usefixtures("sine")
def test_names_are_unique_but_a_class_may_be_defined_again() -> None:
    with pytest.raises(ValueError, match=r"the name 'sine' is taken by .*Sine: choose another"):
        kafnets.register("sine")(nn.Tanh)
    kafnets.register("sine")(registry.find("sine"))
    with pytest.raises(ValueError, match="name must be lower-case"):
        kafnets.register("My Sine")
    with pytest.raises(TypeError, match="must stand for a class or a function"):
        kafnets.register("number")(3)  # type: ignore[type-var]


@pytest.mark.usefixtures("registered")
def test_a_function_can_be_registered() -> None:
    kafnets.register("my_gelu")(lambda n: nn.GELU())
    kafnets.register("hardswish")(nn.Hardswish)
    kafnets.register("wide_maxout")(functools.partial(kafnets.Maxout, pieces=7))
    assert isinstance(kafnets.create("my_gelu", 3), nn.GELU)
    assert isinstance(kafnets.create("hardswish", 3), nn.Hardswish)
    assert registry.facts_of("my_gelu").family == "other"
    assert kafnets.mlp(3, (4,), 1, "wide_maxout")[0].pieces == 7
    with pytest.raises(ValueError, match="the name 'my_gelu' is taken"):
        kafnets.register("my_gelu")(lambda n: nn.Tanh())


@pytest.mark.usefixtures("registered")
def test_installed_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        def load(self) -> None:
            kafnets.register("from_elsewhere")(nn.Mish)

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Entry()])
    assert "from_elsewhere" in CliRunner().invoke(app, ["list"], env={"COLUMNS": "100"}).output


def test_errors_say_what_would_work() -> None:
    with pytest.raises(
        ValueError, match=r"no activation is called 'reluu': did you mean .*relu.*kafnets.names\(\)"
    ):
        kafnets.create("reluu", 3)
    with pytest.raises(
        TypeError,
        match=r"apl: .*'segment'\. It takes groups, segments, dim, inplace, generator, device, dtype",
    ):
        kafnets.create("apl", 3, segment=4)
    with pytest.raises(ValueError, match="num_features must be an integer ≥ 1, got 0"):
        kafnets.create("apl", 0)


def test_families() -> None:
    assert kafnets.names("splines") == ["saf"]
    with pytest.raises(ValueError, match=r"family must be one of expansions, .* got 'nonsense'"):
        kafnets.names("nonsense")


def test_list_prints_every_name() -> None:
    result = CliRunner().invoke(app, ["list"], env={"COLUMNS": "160"})
    assert result.exit_code == 0
    for name in kafnets.names():
        assert re.search(rf"\b{name}\b", result.output)
    assert "Agostinelli" in result.output
    narrow = CliRunner().invoke(app, ["list", "--family", "maxout"], env={"COLUMNS": "80"})
    assert "lp_unit" in narrow.output
    assert "Agostinelli" not in narrow.output
    wrong = CliRunner().invoke(app, ["list", "--family", "nonsense"])
    assert wrong.exit_code == 2
    assert "family must be one of expansions" in " ".join(wrong.output.split())


def test_the_version_is_told() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.output.strip() == f"kafnets {kafnets.__version__}"


def test_options_by_name_are_taken_everywhere() -> None:
    name = "kaf(base=silu, tails=linear,dictionary_size=12)"
    made: list[Any] = [kafnets.create(name, 3), kafnets.mlp(4, (3,), 1, name, dropout=0.1)[1]]
    for kaf in made:
        assert (kaf.expansion.base.function, kaf.expansion.tails, kaf.dictionary_size) == (
            "silu",
            "linear",
            12,
        )
    assert registry.facts_of(name) is kafnets.KAF.facts
    assert kafnets.create("apl()", 3).segments == kafnets.create("apl", 3).segments
    assert kafnets.mlp(4, (3,), 1, "maxout(pieces=5)")[0].pieces == 5


@pytest.mark.parametrize(("name", "words"), [
    ("kaf(bas=silu)", r"'kaf\(bas=silu\)' has no option 'bas': it takes dictionary_size, boundary"),
    ("kaff(base=silu)", "no activation is called 'kaff': did you mean 'kaf'"),
    ("silu", "no activation is called 'silu': it is 'swish' here; kafnets.names"),
    ("kaf(base=silu", "must end with a parenthesis, such as kaf"),
    ("kaf(base)", "must give each option once, as a number or a word, .*: got 'base'"),
    ("kaf(base=silu,base=elu)", "must give each option once"),
    ("kaf(base=../x)", "must give each option once, as a number or a word"),
    ("kaf(base=sillu)", "base 'sillu' is not known: did you mean 'silu'"),
    ("relu(slope=1)", "has no option 'slope': it takes no options"),
])  # fmt: skip
def test_options_by_name_that_are_refused(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kafnets.mlp(4, (3,), 1, name)
