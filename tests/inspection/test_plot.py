"""Pictures: what is drawn, not how it looks."""

import copy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection

import kafnets
from kafnets import plot
from kafnets.fixed_functions import FUNCTIONS
from kafnets.inspection import learned_functions
from kafnets.plot import style
from kafnets.registry import facts_of
from kafnets.sklearn import KafnetRegressor

PLOTTABLE = [name for name in kafnets.names() if facts_of(name).plottable]


def network(name: str) -> torch.nn.Sequential:
    return kafnets.mlp(3, (4, 4), 2, name, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", PLOTTABLE)
def test_every_activation_that_can_be_plotted_is(name: str, tmp_path: Path) -> None:
    model = network(name)
    data = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    figure = plot.shapes(model, data, start=copy.deepcopy(model), neurons=2)
    assert len([axes for axes in figure.axes if axes.get_title()]) == 4
    figure.savefig(tmp_path / "x.png")
    assert model.training
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_what_cannot_be_plotted_says_why() -> None:
    with pytest.raises(ValueError, match="Maxout cannot be drawn: its neurons are functions of all inputs"):
        plot.shapes(network("maxout"))
    with pytest.raises(ValueError, match=r"model has no activation that can be inspected.*plottable=True"):
        plot.shapes(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="start must be a network of the same layers as model"):
        plot.shapes(network("kaf"), start=kafnets.mlp(3, (8,), 2, "kaf"))
    with pytest.raises(ValueError, match="start must be a network of the same layers as model"):
        plot.shapes(kafnets.mlp(3, (9,), 2, "kaf"), start=kafnets.mlp(3, (8,), 2, "kaf"))
    with pytest.raises(ValueError, match="functions of more than two inputs cannot be drawn"):
        plot.shapes(torch.nn.Sequential(kafnets.OrderStatistic(6, group_size=3)))
    with pytest.raises(TypeError, match="start must be a torch module, got OrderedDict"):
        plot.shapes(network("kaf"), start=network("kaf").state_dict())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"stored must be arrays by name, numpy\.load"):
        plot.stored_shapes("shapes.npz")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a list of runs for each label, got one run for 'kaf'"):
        plot.training_curves({"kaf": [{"epoch": 1, "loss": 0.5}]})  # type: ignore[list-item]


def test_curves_are_the_papers_colors() -> None:
    model = network("kaf")
    start = copy.deepcopy(model)
    with torch.no_grad():
        model[1].alpha.mul_(2)  # type: ignore[operator]
    figure = plot.shapes(model, torch.randn(50, 3), start=start, layer="1", neurons=1)
    drawn, behind = figure.axes
    *ends, began, learned = drawn.lines
    assert [line.get_xdata()[0] for line in ends] == [-3.0, 3.0]  # type: ignore[index]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["learned", "initial", "distribution of inputs", "ends of the dictionary"]
    assert (began.get_linestyle(), began.get_color()) == ("--", style.START["color"])
    assert (learned.get_linestyle(), learned.get_color()) == ("-", style.LEARNED["color"])
    np.testing.assert_allclose(np.asarray(learned.get_ydata()), 2 * np.asarray(began.get_ydata()), atol=1e-2)
    assert behind.patches
    with pytest.raises(ValueError, match="layer must be one of 1, 3, got '2'"):
        plot.shapes(model, layer="2")


def test_functions_that_all_start_alike_have_their_start() -> None:
    start = kafnets.mlp(3, (20,), 2, "kaf", init="elu")
    model = copy.deepcopy(start)
    with torch.no_grad():
        model[1].alpha.add_(0.1 * torch.randn(20, 20))  # type: ignore[operator]
    figure = plot.shapes(model, torch.randn(50, 3), start=start)
    drawn = [axes for axes in figure.axes if axes.get_title()]
    assert len(drawn) == 12
    assert all(len(axes.lines) == 4 for axes in drawn)  # two ends, the start, what was learned


def test_axes_of_the_caller_are_used() -> None:
    figure, axes = plt.subplots(2, 2)
    try:
        assert plot.shapes(network("kaf"), layer="1", neurons=4, axes=axes) is figure
        with pytest.raises(ValueError, match="axes must be at least 8, one per function, got 4"):
            plot.shapes(network("kaf"), axes=axes)
    finally:
        plt.close(figure)


def test_heat_maps_put_the_first_input_along_the_axis() -> None:
    module = kafnets.KAF2D(2, dim=-1)
    with torch.no_grad():
        module.alpha.zero_()
        module.alpha.view(1, 10, 10)[0, 9, 4] = 1  # first input large, second in the middle
    figure = plot.shapes(torch.nn.Sequential(module))
    (image,) = figure.axes[0].images
    row, column = np.unravel_index(np.asarray(image.get_array()).argmax(), (31, 31))
    assert column > 22  # to the right
    assert 10 < row < 20


def test_coefficients_starts_and_training() -> None:
    figure = plot.coefficients(network("kaf"), neurons=3)
    assert figure.axes[0].images[0].get_array().shape == (3, 20)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="model has no KAF or 2D-KAF"):
        plot.coefficients(network("relu"))
    figure = plot.initialization("tanh")
    target, kaf = figure.axes[0].lines
    inside = np.abs(np.asarray(target.get_xdata())) < 2.5
    difference = np.asarray(target.get_ydata()) - np.asarray(kaf.get_ydata())
    assert np.abs(difference[inside]).max() < 0.02
    for name in FUNCTIONS:
        plot.initialization(name)
    with pytest.raises(ValueError, match="moment must be one of end, got 'epoch 9'"):
        plot.stored_shapes(learned_functions(network("kaf")), moment="epoch 9")
    runs = {"kaf": [[{"epoch": 1, "score": 0.5}, {"epoch": 2, "score": 0.7}], [{"epoch": 1, "score": 0.6}]]}
    figure = plot.training_curves(runs)
    (line,) = figure.axes[0].lines
    np.testing.assert_allclose(np.asarray(line.get_ydata()), [0.55, 0.65])
    assert any(isinstance(each, PolyCollection) for each in figure.axes[0].collections)
    with pytest.raises(ValueError, match="metric must be one of epoch, score, got 'x'"):
        plot.training_curves(runs, "x")
    with pytest.raises(ValueError, match="runs must hold at least one label"):
        plot.training_curves({})


def test_heat_maps_share_a_color_scale_and_show_the_start() -> None:
    start = network("kaf2d")
    model = copy.deepcopy(start)
    with torch.no_grad():
        model[1].alpha.mul_(3)  # type: ignore[operator]
    figure = plot.shapes(model, start=start)
    maps = [axes for axes in figure.axes if axes.images]
    assert len({axes.images[0].get_clim() for axes in maps}) == 1
    assert len(figure.axes) == len(maps) + 1  # the bar
    assert any(axes.collections for axes in maps)  # contour lines
    assert all(axes.patches[0].get_width() == 6 for axes in maps)  # type: ignore[attr-defined]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "initial",
        "ends of the dictionary",
    ]
    low, high = maps[0].images[0].get_clim()
    drawn = np.stack([np.asarray(axes.images[0].get_array()) for axes in maps])
    assert (drawn.min(), drawn.max()) == (low, high)


def test_connections_are_drawn() -> None:
    figure = plot.shapes(kafnets.edgewise_mlp(3, (2,), 1), torch.randn(50, 3), layer="0", neurons=4)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles[2:] == ["input 2 → output 0", "input 0 → output 1"]


def test_networks_have_their_own_look_in_plots_of_embeddings() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2)) * [1, 1000]
    fitted = KafnetRegressor((4,), epochs=1, n_members=4, random_state=0).fit(x, x[:, 1])
    figure = plot.embeddings(fitted)
    first = figure.axes[0]
    looks = [(line.get_color(), line.get_linestyle()) for line in first.lines]
    assert len(looks) == 8
    assert len({*looks[:4]}) == len({*looks[4:]}) == 1
    assert looks[0] != looks[4]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["network 2", "network 4"]
    assert [axes.get_title() for axes in figure.axes] == ["x0", "x1"]
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert float(labels[2]) == pytest.approx(np.median(x[:, 1]), rel=1e-3)
    assert not any("e" in label for label in labels)
    fed = plot.embeddings(fitted, fitted.predictor_.transform(x))
    titles = [axes.get_title() for axes in fed.axes if axes.get_title()]
    shares = [float(title.split("(")[1].strip("%)")) for title in titles]
    assert shares == sorted(shares, reverse=True)
    alone = KafnetRegressor((4,), epochs=1, n_members=1, embedding="kaf").fit(x, x[:, 1])
    (legend,) = plot.embeddings(alone).legends
    assert [text.get_text() for text in legend.get_texts()] == ["learned"]
