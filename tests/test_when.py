"""The benchmarks behind the page on when to use learned activations."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.tables import suite
from benchmarks.tables.run import stored
from benchmarks.when import image, methods, physics, results, run, summary, supervised, tables
from benchmarks.when.formulas import FORMULAS, MORE
from benchmarks.when.pictures import PICTURES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", FORMULAS | MORE)
def test_formulas_are_finite_on_their_ranges(name: str) -> None:
    formula = (FORMULAS | MORE)[name]
    x, y = formula.rows(2000, np.random.default_rng(0))
    assert x.shape == (2000, len(formula.ranges))
    assert y.shape == (2000,)
    assert np.abs(x).max() <= 1
    assert np.isfinite(y).all()
    assert y.std() > 0


@pytest.mark.parametrize("method", methods.METHODS)
def test_networks_are_as_large_as_the_budget_allows(method: str) -> None:
    sizes = [methods.size(methods.network(method, 3, 1, budget, seed=0)) for budget in (300, 3000)]
    assert sizes[0] <= 300 < sizes[1] <= 3000
    with pytest.raises(ValueError, match="no network of at most 5 parameters"):
        methods.network(method, 3, 1, 5, seed=0)


@pytest.mark.parametrize("method", image.METHODS)
def test_networks_of_images_are_of_equal_size(method: str) -> None:
    net = methods.widest(method, image.METHODS[method], 10000, seed=0)
    assert 9000 < methods.size(net) <= 10000
    assert net(torch.zeros(5, 2)).shape == (5, 3)


@pytest.mark.parametrize("task", [task for task in run.STUDIES if task != "sensorless"])  # needs its file
def test_runs_are_stored_once(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = run.STUDIES[task]
    monkeypatch.setitem(run.STUDIES, task, replace(study, steps=3))
    output, names = tmp_path / "when.jsonl", sorted(study.names)[-1:]
    own = [study.methods[1], study.methods[-1]]
    command = [task, "--seeds=1", *(f"--method={method}" for method in own), f"--output={output}"]
    for _ in range(2):
        run.main([*command, *(f"--name={name}" for name in names)])
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(lines) == 2 * len(study.budgets)
    assert {line["method"] for line in lines} == set(own)
    for line in lines:
        assert line["parameters"] <= line["budget"]
        best = min(line["tried"], key=lambda each: each["validation"])
        assert (line["rate"], line["error"]) == (best["rate"], best["test"])
        assert (line["network"], line["parameters"]) == (best["network"], best["parameters"])
        tried = {each["network"] for each in line["tried"]}
        assert tried == set(study.networks.get(line["method"], [line["method"]]))
        assert line["provenance"]["versions"]["torch"]


def test_few_rows_are_apart_from_those_of_the_test() -> None:
    parts = supervised.few_rows("wine", 0)
    assert [len(y) for _, y in parts.values()] == [75, 25, 178 - 100]
    rows = torch.cat([x for x, _ in parts.values()])
    assert len(rows.unique(dim=0)) == 178
    names = run.STUDIES["few-rows"].names
    assert not set(names) & set(suite.GROUPS["confirmation"])


@pytest.mark.parametrize("name", ["chile", "quakes", "splice"])
def test_more_tables_have_at_most_so_many_features(name: str) -> None:
    names = run.STUDIES["few-rows-more"].names
    assert not set(names) & set(run.STUDIES["few-rows"].names)
    features = supervised.few_rows(name, 0)["train"][0].shape[1]
    assert (name in names) == (features <= supervised.MOST_FEATURES)


def test_few_rows_are_chosen_by_validation_loss() -> None:
    parts = supervised.few_rows("diabetes", 0)
    net = methods.network("relu", 10, 1, 2000, seed=0)
    every = [
        supervised.learned(net, parts, 0.01, 4, 75, 0, checks=checks, choose=supervised.loss)["validation"]
        for checks in (1, 4)
    ]
    assert every[1] <= every[0]
    assert parts["train"][1].std().item() == pytest.approx(1)


@pytest.mark.parametrize("name", physics.EQUATIONS)
def test_references_solve_their_equations(name: str) -> None:
    equation = physics.EQUATIONS[name]
    x, y = np.linspace(-1, 1, 401), np.linspace(equation.low, 1, 201)
    u = equation.solution(x, y)
    inside = slice(40, -40), slice(20, -20)  # differences are poor at the ends
    u_x, u_y = np.gradient(u, x, y)
    u_xx, u_yy = np.gradient(u_x, x, axis=0), np.gradient(u_y, y, axis=1)
    places = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    given = [
        torch.tensor(each[inside].ravel()) for each in (u, u_x, u_y, u_xx, u_yy, *np.moveaxis(places, 2, 0))
    ]
    first = torch.stack(given[1:3], dim=1)
    residual = equation.residual(given[0], first, lambda axis: given[3 + axis], given[5], given[6])
    assert (
        float(residual.abs().quantile(0.9)) < 0.005
    )  # differences are also poor where Burgers' solution is steep
    assert float(first[:, 1].abs().quantile(0.9)) > 0.2


@pytest.mark.parametrize("name", physics.EQUATIONS)
def test_conditions_hold_for_any_network(name: str) -> None:
    equation = physics.EQUATIONS[name]
    points, exact = physics.reference(name)
    edge = points[:, 0].abs() == 1
    edge |= points[:, 1] == equation.low
    value = equation.value(methods.network("kaf", 2, 1, 1000, seed=0), points[edge])
    torch.testing.assert_close(value.double(), exact[edge], atol=1e-5, rtol=0)


def test_residuals_use_the_derivatives_of_the_network() -> None:
    net = methods.network("kaf on tanh", 2, 1, 1000, seed=0).double()
    equation = physics.EQUATIONS["Allen-Cahn"]
    points = torch.tensor([[0.3, 0.4]], dtype=torch.float64)
    loss = equation.loss(net, points.clone())

    def u(x: float, t: float) -> float:
        return equation.value(net, torch.tensor([[x, t]], dtype=torch.float64)).item()

    step = 1e-4
    u_t = (u(0.3, 0.4 + step) - u(0.3, 0.4 - step)) / (2 * step)
    u_xx = (u(0.3 + step, 0.4) - 2 * u(0.3, 0.4) + u(0.3 - step, 0.4)) / step**2
    value = u(0.3, 0.4)
    residual = u_t - physics.DIFFUSION * u_xx - physics.REACTION * (value - value**3)
    assert float(loss.detach()) == pytest.approx(residual**2, rel=1e-4)


def test_allen_cahn_does_not_depend_on_the_cells() -> None:
    x, t = np.linspace(-1, 1, 21), np.linspace(0, 1, 5)
    np.testing.assert_allclose(physics.allen_cahn(x, t, 1000), physics.allen_cahn(x, t), atol=1e-4)


def test_the_page_says_what_is_stored() -> None:
    lines = list(stored(ROOT / run.OUTPUT))
    page = (ROOT / summary.PAGE).read_text(encoding="utf-8")
    assert summary.written(page, lines) == page
    assert all(f"generated: {name}" in page for name in tables.GENERATED)
    assert all((ROOT / summary.picture_path(name)).exists() for name in PICTURES)


def test_the_page_repeats_the_confirmatory_study() -> None:
    page = " ".join((ROOT / summary.PAGE).read_text(encoding="utf-8").split())
    found = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    ratios = re.findall(
        r"^\| 1 \| KAF, 2 layers / \w+, 3 layers \|.*?\|.*?\| ([\d.]+) \(.*\) \| 25 ", found, re.M
    )
    p_value = re.search(r"^\| 1 \| .* \| \*\*confirmed\*\* \| (\S+) \|", found, re.M)
    assert p_value is not None
    assert f"make {' and '.join(ratios)} times the errors" in page
    assert f"25 fresh seeds (p = {p_value[1]}, corrected)" in page


def test_significant_differences_are_shown_wins_first() -> None:
    found = tables.significant(list(stored(ROOT / run.OUTPUT)))
    ratios = [float(row[3].split()[0]) for row in found.rows]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]
    assert all(float(row[-1]) < 0.05 for row in found.rows)


def test_more_formulas_are_other_ones() -> None:
    assert not FORMULAS.keys() & MORE.keys()
    assert all(2 <= len(each.ranges) <= 5 for each in MORE.values())


PLANS = {
    "more-formulas": "1fb880fd",
    "few-rows-more": "48a95548",
    "physics": "1414be14",
    "sensorless": "c56019fc",
    "few-rows": "3be21caa",
    "image": "3be21caa",
}
"""The commits that plan the studies."""


@pytest.mark.parametrize("task", PLANS)
def test_plans_are_older_than_runs(task: str) -> None:
    commits = {line["provenance"]["commit"] for line in stored(ROOT / run.OUTPUT) if line["task"] == task}
    assert commits
    for commit in commits:
        command = ["git", "merge-base", "--is-ancestor", PLANS[task], commit]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 128:
            pytest.skip("not a checkout with its history")
        assert done.returncode == 0


def test_only_seeds_that_all_methods_have_are_compared() -> None:
    line = {"task": "digits", "name": "digits", "budget": 500, "method": "relu", "seed": 0, "error": 0.1}
    lines = [line, line | {"seed": 1, "error": 0.3}, line | {"method": "kaf", "error": 0.2}]
    assert results.errors(lines, "digits") == {("digits", 500): {"relu": {0: 0.1}, "kaf": {0: 0.2}}}
    assert tables.digits(lines).rows == (("500", "1", "**10.00%**", "-", "-", "20.00%", "-"),)
    assert results.geometric([0.1, 0.001]) == pytest.approx(0.01)


def test_learned_functions_are_compared_with_the_best_fixed_one() -> None:
    logs = {"relu": np.array([2.0, 3.0]), "tanh": np.array([1.0, 2.0]), "kaf": np.array([0.0, 1.5])}
    (only,) = results.comparisons(logs)
    assert (only.ours, only.theirs) == ("kaf", "tanh")
    np.testing.assert_array_equal(only.differences, [-1.0, -0.5])
    ((*_, ratio, won, _),) = results.tests_table([only], "tables").rows
    assert (ratio.partition(" ")[0], won) == (f"{np.exp(-0.75):.2f}", "2 of 2")


def test_seeds_are_paired_over_names() -> None:
    own = {"relu": {0: 0.1, 1: 0.2}, "kaf": {0: 0.01, 1: 0.02}}
    other = {"relu": {0: 0.4}, "kaf": {0: 0.04}}
    logs = results.by_seed({("a", 1): own, ("b", 1): other})
    np.testing.assert_allclose(np.exp(logs["relu"]), [0.2])
    np.testing.assert_allclose(logs["kaf"] - logs["relu"], [np.log(0.1)])


def test_sizes_of_the_same_error_are_interpolated() -> None:
    sizes, theirs = (100, 10000), (0.1, 0.001)
    assert tables.same_error(0.01, sizes, theirs) == "1,000"
    assert tables.same_error(0.2, sizes, theirs) == "at most 100"
    assert tables.same_error(0.0001, sizes, theirs) == "more than 10,000"
