"""Activations in transformers: by name, from checkpoints that lack them, and converted."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import kafnets

transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 50, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
PLACE = "encoder.layer.0.intermediate.intermediate_act_fn"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    from transformers.activations import ACT2CLS, ACT2FN

    from kafnets.integrations.transformers import register

    before = dict(ACT2CLS)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    register()
    register("kaf_gelu", base="gelu")
    yield
    for each in (ACT2CLS, ACT2FN):
        for name in set(each) - set(before):
            del each[name]


def bert(activation: str) -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(num_hidden_layers=1, hidden_act=activation, **SIZES)
    return transformers.BertModel(config).eval()


def outputs(model: Any, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        result: Tensor = model.eval()(tokens).last_hidden_state
    return result


TOKENS = torch.arange(14).reshape(2, 7)


def soil_memory() -> None:
    """Freed memory is what torch.empty_like gives."""
    for size in range(1, 400):
        torch.full((size,), 1e30)


def test_names() -> None:
    model = bert("kaf")
    kaf = model.get_submodule(PLACE)
    assert isinstance(kaf, kafnets.KAF)
    assert kaf.alpha.shape == (1, 20)
    assert isinstance(transformers.activations.ACT2FN["saf"], kafnets.SAF)
    assert isinstance(transformers.activations.ACT2FN["relu"], nn.ReLU)
    assert outputs(model, TOKENS).isfinite().all()


@pytest.mark.parametrize(
    "activation", ["kaf_gelu", "kaf", "saf", "apl", "hermite", "pelu", "noisy_hard_tanh"]
)
def test_a_checkpoint_without_the_activations(activation: str, tmp_path: Path) -> None:
    plain = bert("gelu")
    plain.save_pretrained(tmp_path)
    soil_memory()
    loaded = transformers.BertModel.from_pretrained(tmp_path, hidden_act=activation)
    module = loaded.get_submodule(PLACE)
    torch.manual_seed(0)
    fresh = type(module)(**({"base": "gelu"} if activation == "kaf_gelu" else {}))
    assert {name: each.shape for name, each in module.state_dict().items()} == {
        name: each.shape for name, each in fresh.state_dict().items()
    }
    if activation in ("kaf", "apl"):  # random ones
        assert 0 < next(module.parameters()).abs().max() < 5
    else:
        values = [*module.parameters(), *module.buffers()]
        assert all(
            torch.equal(*pair) for pair in zip(values, [*fresh.parameters(), *fresh.buffers()], strict=True)
        )
    assert outputs(loaded, TOKENS).abs().max() < 10
    if activation == "kaf_gelu":
        torch.testing.assert_close(outputs(loaded, TOKENS), outputs(plain, TOKENS))


@pytest.mark.parametrize("activation", ["kaf", "saf"])
def test_a_checkpoint_with_them(activation: str, tmp_path: Path) -> None:
    model = bert(activation)
    with torch.no_grad():
        next(model.get_submodule(PLACE).parameters()).uniform_(-1, 1)
    model.save_pretrained(tmp_path)
    soil_memory()
    loaded = transformers.BertModel.from_pretrained(tmp_path)
    assert torch.equal(outputs(loaded, TOKENS), outputs(model, TOKENS))


def test_a_checkpoint_on_another_dictionary_is_refused(tmp_path: Path) -> None:
    """Transformers does not load what moves it, so the functions would be others."""
    model = bert("kaf")
    kafnets.calibrate(model, [TOKENS])
    model.save_pretrained(tmp_path)
    with pytest.raises(RuntimeError, match="dictionary was stored with values from"):
        transformers.BertModel.from_pretrained(tmp_path)


def test_building_a_model_keeps_what_its_constructor_set() -> None:
    class Own(transformers.PreTrainedModel):  # type: ignore[misc, name-defined]
        config_class = transformers.BertConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.kaf = kafnets.KAF(3)
            with torch.no_grad():
                self.kaf.alpha.fill_(0.5)
            self.post_init()

    assert (Own(transformers.BertConfig(**SIZES)).kaf.alpha == 0.5).all()


@pytest.mark.parametrize("by_class", [False, True])
def test_convert(by_class: bool) -> None:
    """By torch's class too, since the one of transformers holds the function."""
    model = bert("gelu")
    kind = type(model.get_submodule(PLACE)) if by_class else nn.GELU
    new = kafnets.convert(model, {kind: "kaf"}, example_input={"input_ids": TOKENS})
    kaf = new.get_submodule(PLACE if by_class else f"{PLACE}.act")
    assert isinstance(kaf, kafnets.KAF)
    assert (kaf.num_features, kaf.dim) == (16, -1)
    assert "fused attention" in new.conversion.not_replaced[0]  # type: ignore[union-attr, index]
    torch.testing.assert_close(outputs(new, TOKENS), outputs(model, TOKENS))
