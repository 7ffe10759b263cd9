"""The record of learned functions."""

import io
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets
from kafnets.inspection import from_arrays, learned_functions
from kafnets.inspection.curves import as_arrays, titles
from kafnets.inspection.snapshots import FIRST, Snapshots
from kafnets.nn.averaged import Averaged


def network(*layers: nn.Module) -> nn.Sequential:
    return nn.Sequential(*layers)


DATA = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("layer", "facts"),
    [
        (kafnets.KAF(4, dim=-1, boundary=2.5), {"activation": "KAF", "count": 4, "dictionary": (-2.5, 2.5)}),
        (kafnets.KAF(4, dim=-1, boundary=6.0), {"limit": 10.0, "tails": "zero", "base": None}),
        (kafnets.KAF(4, dim=-1, tails="linear", base="silu"), {"tails": "linear", "base": "silu"}),
        (kafnets.KAF(4, dim=-1, groups=2), {"count": 2, "sharing": 2}),
        (kafnets.KAF(dim=-1), {"count": 1, "sharing": 4}),
        (kafnets.KAF(4, dim=-1, dictionary=[-1.0, 0.5, 2.0]), {"dictionary": (-1.0, 2.0), "limit": 5.0}),
        (kafnets.KAF2D(4, dim=-1), {"activation": "KAF2D", "inputs": 2, "count": 2}),
        (kafnets.PReLU(4, dim=-1), {"activation": "PReLU", "dictionary": None, "tails": None}),
        (kafnets.EdgewiseKAF(4, 3, boundary=1.5), {"count": 12, "connections": 4, "limit": 2.5}),
    ],
)
def test_layers_tell_what_they_are(layer: nn.Module, facts: dict[str, Any]) -> None:
    (found,) = learned_functions(network(layer), DATA)
    assert {key: getattr(found, key) for key in facts} == facts
    (again,) = from_arrays(as_arrays([found]))
    assert again.facts() == found.facts()
    for name, moment in found.moments.items():
        np.testing.assert_array_equal(moment.values, again.moments[name].values)
        np.testing.assert_array_equal(moment.histogram, again.moments[name].histogram)
        np.testing.assert_array_equal(moment.outside, again.moments[name].outside)


def test_connections_have_the_functions_of_their_layer() -> None:
    layer = kafnets.EdgewiseKAF(4, 3, boundary=1.5)
    (found,) = learned_functions(network(layer), DATA)
    with torch.no_grad():
        wanted = layer.functions(torch.linspace(-2.5, 2.5, 101))
    np.testing.assert_allclose(found.values("end"), wanted.flatten(0, 1), atol=2e-3)
    assert found.name_of(6) == "input 2 → output 1"
    histogram = found.moments["end"].histogram
    np.testing.assert_array_equal(found.rows_of(6, histogram), found.rows_of(2, histogram))


def test_equal_functions_are_stored_once() -> None:
    (found,) = learned_functions(network(kafnets.create("relu", 4)), DATA)
    assert found.moments["end"].values.shape == (1, 101)
    assert found.values("end").shape == (4, 101)
    assert found.count == 4
    assert len(kafnets.describe(network(kafnets.create("relu", 4)), DATA)) == 4


def test_arrays_without_facts_can_still_be_read() -> None:
    (found,) = learned_functions(network(kafnets.KAF2D(4, dim=-1)), DATA)
    arrays = as_arrays([found])
    del arrays["layers"]
    (read,) = from_arrays(arrays)
    assert (read.layer, read.inputs, read.count, read.dictionary) == ("0", 2, None, None)
    (told,) = from_arrays(arrays, unnamed=found)
    assert told.dictionary == (-3.0, 3.0)


def test_snapshots_keep_all_functions_at_the_end_of_a_whole_record() -> None:
    model = network(nn.Linear(4, 40), kafnets.KAF(40, dim=-1))
    whole, short = Snapshots(True), Snapshots(False)
    for each in (whole, short):
        for epoch, moment in enumerate(("start", None, None, None, "end")):
            if moment:
                each.take(model, DATA, moment)
            else:
                each.after_epoch(epoch, model, DATA)
    again = Snapshots(True)
    again.restore(whole.state())
    stream = io.BytesIO()
    np.savez_compressed(stream, **again.arrays)  # type: ignore[arg-type]
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as stored:
        (layer,) = from_arrays(stored)
    assert {name: len(layer.values(name)) for name in layer.moments} == {
        "start": FIRST,
        "epoch 1": FIRST,
        "epoch 2": FIRST,
        "end": 40,
    }
    assert layer.count == 40
    assert layer.function("start", 20) is None
    (layer,) = from_arrays(short.arrays)
    assert {name: len(layer.values(name)) for name in layer.moments} == {"start": FIRST, "end": FIRST}


def test_embeddings_know_how_much_the_outputs_depend_on_their_features() -> None:
    embedding = kafnets.nn.KAFEmbedding(4, [0, 1, 3])
    sum_of_some = nn.Linear(embedding.out_features, 1)
    with torch.no_grad():
        sum_of_some.weight.zero_()
        sum_of_some.weight[0, :4] = torch.tensor([1.0, 0.0, 3.0, 2.0])
    data = torch.randn(5000, 4, generator=torch.Generator().manual_seed(1))
    (found,) = learned_functions(network(embedding, sum_of_some), data, with_influence=True)
    shares = found.moments["end"].influence
    assert shares is not None
    # Of independent features, shares are those of the sum of variances.
    np.testing.assert_allclose(shares, np.array([1, 0, 4]) / 14, atol=0.05)
    assert found.by_influence("end") == [2, 0, 1]
    (again,) = from_arrays(as_arrays([found]))
    np.testing.assert_array_equal(again.moments["end"].influence, shares)
    (unfed,) = learned_functions(network(embedding, sum_of_some), with_influence=True)
    assert unfed.moments["end"].influence is None
    assert unfed.by_influence("end") == [0, 1, 2]


def test_readers_are_shown_numbers_of_hidden_layers() -> None:
    plain = learned_functions(kafnets.mlp(4, (5, 5), 1, "kaf", dropout=0.1))
    assert titles(plain) == {"1": "1", "4": "2"}
    embedded = network(kafnets.nn.KAFEmbedding(4), *kafnets.mlp(20, (5, 5), 1, "kaf"))
    assert titles(learned_functions(embedded)) == {"0": "features", "2": "1", "4": "2"}
    both = Averaged([kafnets.mlp(4, (5,), 1, "kaf"), embedded], "identity")
    assert titles(learned_functions(both)) == {
        "members.0.1": "network 1, layer 1",
        "members.1.0": "network 2, features",
        "members.1.2": "network 2, layer 1",
        "members.1.4": "network 2, layer 2",
    }
