"""The suite of tables in benchmarks/tables: its plan, its methods, its runner."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.tables import (
    calibration,
    comparisons,
    ingredients,
    page,
    probabilities,
    rivals,
    run,
    suite,
    summary,
)
from benchmarks.tables.tuned import Tuned
from kafnets import data
from kafnets.data import tables

EVERY = [name for group in suite.GROUPS.values() for name in group]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of 60 rows in place of all: numbers with gaps, and categories; "german" has two classes."""
    generator = np.random.default_rng(0)
    number = generator.normal(size=60)
    columns = {"a": np.where(np.arange(60) == 3, np.nan, number), "b": ["red", "blue", "green"] * 20}
    found = {"german": tables.read(columns, np.arange(60) % 2), "slid": tables.read(columns, 1000 * number)}
    monkeypatch.setattr(suite, "table", found.__getitem__)


def test_the_plan_and_the_groups_agree() -> None:
    plan = (Path(suite.__file__).parent / "PLAN.md").read_text(encoding="utf-8")
    for group, names in suite.GROUPS.items():
        (section,) = re.findall(
            rf"\*\*{group.capitalize()}\*\* \((\d+)\)(.*?)\n\n(?=[^-])", plan, flags=re.DOTALL
        )
        assert int(section[0]) == len(names)
        assert sorted(re.findall(r"`(\w+)`", section[1])) == sorted(names)
    assert len(set(EVERY)) == len(EVERY)
    assert not {"letter", "spambase"} & set(EVERY)
    assert not {"letter", "spambase"} & set(data.SETS)


def test_tables_of_the_suite_have_a_size_that_fits() -> None:
    for name in EVERY:
        assert data.SETS[name].table is not None
        assert 1000 <= data.SETS[name].rows <= 60_000


def test_runs_are_stored_and_not_repeated(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out" / "tables.jsonl"
    options = ["--methods", "boosting,kafnets", "--tables", "german,slid", "--output", str(output)]
    run.main([*options, "--divisions", "1"])
    lines = list(run.stored(output))
    assert [(line["table"], line["method"]) for line in lines] == [
        ("german", "boosting"),
        ("german", "kafnets"),
        ("slid", "boosting"),
        ("slid", "kafnets"),
    ]
    for line in lines:
        assert (line["division"], line["part"]) == (0, "validation")
        assert line["rows"][0] == 42
        assert line["scores"]["error"] >= 0
        assert set(line["seconds"]) == {"fit", "fit_cpu", "predict"}
        assert line["provenance"]["versions"]["scikit-learn"]
    # A crash in the middle of a line, and another call: only what is missing is run.
    whole = output.read_text(encoding="utf-8").splitlines(keepends=True)
    output.write_text("".join(whole[:3]) + whole[3][:50], encoding="utf-8")
    capsys.readouterr()
    run.main([*options, "--divisions", "1"])
    assert capsys.readouterr().out.startswith("1/1 slid kafnets 0 validation: ")
    again = list(run.stored(output))
    assert again[3]["scores"] == json.loads(whole[3])["scores"]
    run.main([*options, "--divisions", "1"])
    assert capsys.readouterr().out == ""


def test_failed_runs_are_stored_with_their_reason(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def fit(self, rows: object, target: object) -> None:
            raise ArithmeticError("diverged")

    output = tmp_path / "tables.jsonl"
    one = [run.Run("german", "boosting", 0, "test")]
    with monkeypatch.context() as patched:
        patched.setattr(rivals, "model_for", lambda *_: Failing())
        run.run_all(one, output)
    assert [line["failed"] for line in run.stored(output)] == ["ArithmeticError: diverged"]
    run.run_all(one, output)
    assert len(list(run.stored(output))) == 1
    run.run_all(one, output, retry=True)
    failed, scored = run.stored(output)
    assert "scores" not in failed
    assert scored["rows"] == failed["rows"]
    assert scored["scores"]["error"] >= 0


def test_confirmation_tables_are_scored_on_the_test_part(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (
        (["--group", "confirmation", "--part", "validation"], "nothing is chosen on confirmation tables"),
        (["--tables", "abalone"], "not in the group development: abalone"),
    ):
        with pytest.raises(SystemExit):
            run.main(["--methods", "boosting", *wrong])
        assert message in capsys.readouterr().err


def test_the_error_of_unbalanced_classes_is_of_ranks() -> None:
    rare = tables.read({"a": np.arange(200.0) / 3}, (np.arange(200) >= 185).astype(int), name="rare")
    target = np.array([0, 0, 0, 1])
    outputs = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]])
    found = run.scores(rare, outputs, target)
    assert found["error"] == pytest.approx(1 / 3)
    assert found["error_rate"] == 0.5
    even = tables.read({"a": np.arange(200.0) / 3}, np.arange(200) % 2, name="even")
    assert run.scores(even, outputs, target)["error"] == 0.5
    numbers = tables.read({"a": np.arange(200.0)}, np.arange(200.0) / 7, name="numbers")
    assert run.scores(numbers, np.array([1.0, 2.0]), np.array([1.0, 4.0]))["error"] == pytest.approx(
        np.sqrt(2)
    )


@pytest.mark.parametrize(
    "method", ["forest", "forest-tuned", "mlp", "mlp-tuned", "edgewise", "lightgbm", "xgboost", "catboost"]
)
@pytest.mark.parametrize("name", ["german", "slid"])
@pytest.mark.filterwarnings("ignore")
def test_rivals_learn_from_columns_as_they_are(small: None, method: str, name: str) -> None:
    package = rivals.PACKAGES[method.removesuffix(rivals.TUNED)]
    if package != "scikit-learn":
        pytest.importorskip(package)
    result = run.Run(name, method, 0, "test").result()
    assert "failed" not in result
    assert np.isfinite(list(result["scores"].values())).all()


class Shift:
    """Predicts a number that is off by a setting."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def fit(self, rows: pd.DataFrame, target: np.ndarray) -> None:
        self.learned = len(rows)

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return rows["a"].to_numpy() + self.alpha - 1e-2


def test_the_best_value_on_held_out_rows_learns_from_all() -> None:
    rows = pd.DataFrame({"a": np.arange(100.0)})
    found = Tuned("mlp", Shift, "regression", seed=0).fit(rows, np.arange(100.0))
    assert (found.chosen, found.model.learned) == (1e-2, 100)
    np.testing.assert_allclose(found.predict(rows), np.arange(100.0))


def test_methods_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ModuleNotFoundError, match="lightgbm needs lightgbm: pip install lightgbm"):
        rivals.model_for("lightgbm", "binary", 0)
    with pytest.raises(
        ValueError, match=r"method must be kafnets, kafnets:ACTIVATION, lightgbm, .* got 'lightgbn'"
    ):
        rivals.model_for("lightgbn", "binary", 0)


def stored_lines(errors: dict[str, list[float]]) -> list[dict[str, object]]:
    """Runs of methods on the first tables of the development group, the same in all divisions."""
    return [
        {
            "table": suite.GROUPS["development"][place],
            "method": method,
            "division": division,
            "part": "validation",
            "rows": [100, 20],
            "scores": {"error": error},
        }
        for method, own in errors.items()
        for place, error in enumerate(own)
        for division in range(suite.DIVISIONS)
    ]


def test_the_summary_of_known_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = suite.GROUPS["development"]
    ours = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.0]
    lines = stored_lines(
        {"kafnets": ours, "mlp": [2 * each for each in ours[:-1]] + [0.01], "forest": ours[:-1]}
    )
    lines.append(lines[0] | {"table": names[9], "method": "mlp"})  # one division of five: not counted
    found = summary.errors(lines, names, "validation")
    assert found["kafnets"][names[7]] == 0.5 / 100
    assert names[9] not in found["mlp"]
    ranks = summary.mean_ranks(found, names[:8])
    assert ranks == {"kafnets": (7 * 1.5 + 1) / 8, "mlp": (7 * 3 + 2) / 8, "forest": (7 * 1.5 + 3) / 8}
    against = {each.method: each for each in summary.pairs(found, "kafnets")}
    assert against["mlp"].ratio == pytest.approx(0.5)
    assert against["mlp"].interval == pytest.approx((0.5, 0.5))
    assert against["mlp"].p == pytest.approx(2 * 2 / 2**8)  # all eight to one side, twice, for two pairs
    assert against["mlp"].level
    assert (against["forest"].tables, against["forest"].ratio, against["forest"].p) == (7, 1, 1)
    path = tmp_path / "tables.jsonl"
    for line in lines:
        run.append(path, line)
    summary.main(["--input", str(path)])
    assert "| mlp | 8 | 2.88 | 0.500 | 0.500 to 0.500 | 0.016 |" in capsys.readouterr().out


def test_the_page_says_what_is_stored() -> None:
    root = Path(__file__).parents[1]
    text = (root / page.PAGE).read_text(encoding="utf-8")
    assert page.page(text, root) == text
    assert text.count("<!-- generated: tables-") == 18
    assert (root / ingredients.PICTURE).exists()
    assert ingredients.PICTURE.name in text


def test_what_the_recipe_left_out_is_as_its_trials_say() -> None:
    root = Path(__file__).parents[1]
    trials = (root / "benchmarks/results/recipe_search.jsonl").read_text(encoding="utf-8").splitlines()
    errors: dict[tuple[str, str], dict[str, float]] = {}
    for each in map(json.loads, trials):
        if each["seed"] == 0:
            errors.setdefault((str(each["round"]), each["name"]), {})[each["table"]] = each["cross"]
    text = (root / "docs/training.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| (\d) `(.+?)` / (\d) `(.+?)` \| (\d+) \| (.+?) \| (.+?) to (.+?) \|", text)
    assert len(rows) == 3
    for round_with, name, round_without, other, count, *told in rows:
        with_it, without = errors[round_with, name], errors[round_without, other]
        assert len(with_it.keys() & without.keys()) == int(count)
        logarithms = np.log([with_it[table] / without[table] for table in sorted(with_it)])
        low, high = summary._interval(logarithms)
        assert float(told[0]) == pytest.approx(np.exp(logarithms.mean()), abs=6e-4)
        assert [float(each) for each in told[1:]] == pytest.approx([low, high], abs=0.003)


def test_the_plan_and_the_ingredients_agree() -> None:
    plan = (Path(suite.__file__).parent / "PLAN.md").read_text(encoding="utf-8")
    section = plan.split("## Ingredients")[1].split("\n## ")[0]
    named = sorted(re.findall(r"`(kafnets[-:][^`]+)`", section))
    assert named == sorted([*ingredients.LEFT_OUT, *ingredients.ADDED])
    assert f"at most {ingredients.LIMIT:,} random rows" in section


def test_ingredients_are_left_out(small: None) -> None:
    number = np.linspace(-1, 1, 40)
    columns = np.stack([number, 100 * number**3], 1)
    for method, there in (
        ("kafnets:standardized", {}),
        ("kafnets:beta-0.999", {"betas": (0.9, 0.999)}),
        ("kafnets:one-cosine", {"schedule": "cosine"}),
        ("kafnets:steady", {"regularization_schedule": None}),
        ("kafnets:last-epoch", {"keep": "last"}),
        ("kafnets:clamped", {"clamp_outputs": True}),
    ):
        for task in ("binary", "regression"):
            changed, default = (rivals.model_for(name, task, 0) for name in (method, "kafnets"))
            assert changed.get_params() == default.get_params()
            given = {"schedule": "coslog4", "keep": "best", "regularization_schedule": "cosine"}
            assert changed._settings(**given) == replace(default._settings(**given), **there)
    model = rivals.model_for("kafnets:standardized", "regression", 0).set_params(epochs=1, n_members=2)
    scaled = model.fit(columns, number).scaling_.apply(columns)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-6)
    np.testing.assert_allclose(model.scaling_.original(1, scaled[:, 1]), columns[:, 1], atol=1e-4)
    robust = rivals.model_for("kafnets", "regression", 0).set_params(epochs=1, n_members=2)
    assert robust.fit(columns, number).scaling_.kind == "robust"


def test_calibration_is_told(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibration.run("slid", 3, 30) is None
    numbers = np.random.default_rng(0).normal(size=200)
    monkeypatch.setattr(suite, "table", lambda _: tables.read({"a": numbers}, (numbers > 0).astype(int)))
    result = calibration.run("any", 3, 100)
    assert result is not None
    result |= {"temperature": 1.0, "log_loss": [result["log_loss"][0]] * 2}
    half, more = ({"temperature": 0.5, "log_loss": [1.0, 1.0 * each]} for each in (0.5, 1.02))
    assert calibration.told([result, half, more, half]) == (
        "Of 4 networks, 3 had a temperature other than 1. Calibration multiplied the log-loss on other rows "
        "by 0.711 (geometric mean over all networks). It made it larger for 1 of them, by up to 2.0 %."
    )


def test_rows_beyond_a_limit_are_scored(small: None, tmp_path: Path) -> None:
    output = tmp_path / "ingredients.jsonl"
    limited = run.Run("german", "boosting", 0, "validation", limit=30)
    run.run_all([limited, run.Run("german", "boosting", 0, "validation")], output)
    run.run_all([limited], output)
    first, second = run.stored(output)
    assert (first["limit"], first["rows"]) == (30, [30, 8 + 12])
    assert ("limit" in second, second["rows"]) == (False, [42, 8])


def test_what_an_ingredient_is_worth() -> None:
    worse = {method: 1 + number / 10 for number, method in enumerate(ingredients.LEFT_OUT)}
    lines = [
        line
        for line in stored_lines(
            {"kafnets": [0.1, 0.2, 0.3]}
            | {method: [0.1 * times, 0.2 * times] for method, times in worse.items()}
        )
        if line["division"] == 0 and (line["method"], line["table"]) != ("kafnets:no-smoothing", "diamonds")
    ]
    for each in ingredients.effects(lines):
        assert each.ratio == pytest.approx(worse[each.method])
        assert each.tables == (1 if each.method == "kafnets:no-smoothing" else 2)
    told = ingredients.table(lines)
    assert "| six networks | one network | 2 | 2.500 | 2.500 to 2.500 |" in told
    assert "Over 2 of 14 development tables" in told
    names = [each.get_text() for each in ingredients.picture(lines).axes[0].get_yticklabels()]
    assert names[-1] == "six networks → one network"


def test_additions_are_compared_with_the_default() -> None:
    better = {method: [0.08, 0.16] for method in ingredients.ADDED}
    lines = [line for line in stored_lines({"kafnets": [0.1, 0.2]} | better) if line["division"] == 0]
    told = ingredients.added_table(lines)
    assert "| linear tails of KAFs | 2 | 0.800 | 0.800 to 0.800 |" in told
    assert "Over 2 of 14 development tables" in told


def test_log_losses_beside_errors() -> None:
    def lines(
        method: str, loss: float, error: float, part: str, tables: Sequence[str]
    ) -> list[dict[str, Any]]:
        scores = {"error": error, "log_loss": loss}
        return [
            {
                "table": name,
                "method": method,
                "division": each,
                "part": part,
                "rows": [9, 9],
                "scores": scores,
            }
            for name in tables
            for each in range(suite.DIVISIONS)
        ]

    names = suite.GROUPS["development"][:6]
    own = lines("kafnets", 0.4, 0.1, "validation", names)
    own += [line for method in probabilities.METHODS for line in lines(method, 0.3, 0.2, "validation", names)]
    told = probabilities.table(own)
    assert '| `metric="loss"` | 0.750 | 0.750 to 0.750 | 0.062 | 2.000 | 2.000 to 2.000 |' in told
    confirmed = lines("kafnets", 0.6, 0.1, "test", comparisons.TABLES[:6])
    confirmed += lines("mlp", 0.5, 0.1, "test", comparisons.TABLES)
    assert probabilities.beside(confirmed, ["kafnets", "mlp"]) == "Not finished yet."
    calibrated = lines(probabilities.CALIBRATED, 0.4, 0.1, "test", comparisons.TABLES[:6])
    confirmed += [line for line in calibrated if line["division"] < 3]
    told = probabilities.beside(confirmed, ["kafnets", "mlp"])
    assert "| kafnets, not calibrated | 6 | 0.667 | 0.667 to 0.667 | 0.031 | 6 of 6 |" in told
    assert "| mlp | 6 | 0.800 | 0.800 to 0.800 | 0.031 | 6 of 6 |" in told
    assert "on the first 3 of 5 divisions." in told


def test_methods_are_ranked_where_all_have_been_run() -> None:
    first, second, third = comparisons.TABLES[:3]
    found = {
        "kafnets": {first: 0.1, second: 0.2, third: 0.3},
        "mlp": {first: 0.2, second: 0.1},
        "forest": {first: 0.3, second: 0.3, third: 0.1},
    }
    told = comparisons.ranked({suite.DIVISIONS: found}, comparisons.DEFAULTS)
    assert "| mlp | 2 | 1.50 | 1.000 |" in told
    assert "Over 2 of 28 tables.\n\nNot finished yet: kafnets-before, boosting, lightgbm." in told
    assert (
        comparisons.ranked({suite.DIVISIONS: found}, comparisons.MEMBERS) == "Not finished yet: realmlp-td-6."
    )
    assert "| **0.1** |" in comparisons.errors_by_table(found)


def finished(
    method: str, errors: list[float], tables: int = len(comparisons.TABLES)
) -> list[dict[str, object]]:
    """Runs of the first divisions, each with its error, the same on all confirmation tables."""
    return [
        {"table": table, "method": method, "division": division, "part": "test", "rows": [100, 20]}
        | {"scores": {"error": error}}
        for table in comparisons.TABLES[:tables]
        for division, error in enumerate(errors)
    ]


def test_methods_with_fewer_divisions_are_compared_on_these() -> None:
    lines = [
        *finished("kafnets", [0.1, 0.1, 0.2, 0.3, 0.3]),
        *finished("kafnets:relu", [0.2, 0.2, 0.1, 0.1, 0.1]),
        *finished("kafnets:mish", [0.4, 0.4, 0.4]),
        *finished("kafnets:pact", [0.3, 0.1]),
        *finished("kafnets:pact", [0.3, 0.1, 0.9], tables=5),  # not on all tables: not counted
        *finished("kafnets:periodic", [0.3]),
    ]
    complete, five, some, three, fewest, two, left = comparisons.ranked(
        comparisons.by_divisions(lines), comparisons.RECIPE
    ).split("\n\n")
    assert five == "Over 28 of 28 tables."
    assert "| kafnets:relu | 28 | 1.00 | 1.429 |" in complete
    assert "kafnets:mish" not in complete
    assert three == "Over 28 of 28 tables, on the first 3 of 5 divisions: preliminary."
    assert "| kafnets:mish | 28 | 3.00 | 0.333 |" in some
    assert "| kafnets:relu | 28 | 2.00 | 0.800 |" in some
    assert "kafnets:pact" not in some
    assert two == "Over 28 of 28 tables, on the first 2 of 5 divisions: preliminary."
    assert "| kafnets:pact | 28 | 2.50 | 0.500 |" in fewest
    assert "| kafnets:relu | 28 | 2.50 | 0.500 |" in fewest
    assert left == "Not finished yet: kafnets:periodic."


def test_few_divisions_of_all_tables_are_shown_beside_all_of_few() -> None:
    lines = [
        *finished("kafnets", [0.1] * suite.DIVISIONS),
        *finished("tabm", [0.2] * suite.DIVISIONS, tables=8),
        *finished("tabm", [0.3, 0.3]),
    ]
    told = comparisons.beside(comparisons.by_divisions(lines), lines)
    assert told.startswith("tabm:")
    assert "Over 8 of 28 tables." in told
    assert told.endswith("Over 28 of 28 tables, on the first 2 of 5 divisions: preliminary.")
    alone = lines[: 5 * len(comparisons.TABLES)]
    assert comparisons.beside(comparisons.by_divisions(alone), alone) == ""


def test_a_single_division_is_shown_beside() -> None:
    lines = [*finished("kafnets", [0.1, 0.4]), *finished("tabm", [0.2], tables=8)]
    told = comparisons.beside(comparisons.by_divisions(lines), lines)
    assert told.startswith("tabm:")
    assert "| tabm | 8 | 2.00 | 0.500 |" in told
    assert told.endswith("Over 8 of 28 tables, on the first of 5 divisions: preliminary.")


def test_ours_differ_in_what_their_name_says() -> None:
    default, periodic, relu = (
        rivals.model_for(name, "binary", 0) for name in ("kafnets", "kafnets:periodic", "kafnets-1:relu")
    )
    assert (periodic.activation, periodic.embedding) == ("kaf", (None, "periodic") * 3)
    assert periodic.n_members == default.n_members
    assert (relu.activation, relu.embedding, relu.n_members) == ("relu", default.embedding, 1)
