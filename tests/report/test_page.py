"""The page, in a real browser: people sort, filter, slide and hover."""

import csv
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import kafnets
from kafnets.cli import app
from kafnets.comparison.ranking import rank
from kafnets.inspection.curves import Columns
from kafnets.nn import KAFEmbedding
from kafnets.report import write
from kafnets.report.collect import collect, read
from kafnets.report.payload import payload
from tests.report.runs import write_run

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = os.environ.get("KAFNETS_CHROMIUM") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

needs_browser = pytest.mark.skipif(
    BROWSER is None,
    reason="needs Chromium: `make browser` (Debian's package), or set KAFNETS_CHROMIUM to its path",
)
EVIL = "<img src=x onerror=alert(1)></script><script>window.hacked = 1</script>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four settings of three seeds, one of them a 2D one; one unfinished, one damaged; a hostile label."""
    root = tmp_path_factory.mktemp("runs")
    for seed in range(3):
        write_run(root, "relu", seed, 0.90 + 0.02 * seed)
        write_run(root, "kaf", seed, 0.95 + 0.01 * seed, neurons=20, dictionary=(-2.0, 2.0))
        write_run(root, "kaf2d", seed, 0.93 + 0.01 * seed, surfaces=True)
        write_run(root, EVIL, seed, 0.5 + 0.01 * seed)
    write_run(root, "tanh", 0, 0.5, finished=False)
    damaged = write_run(root, "elu", 0, 0.5)
    (damaged / "report.json").write_text("{}")
    return root


@pytest.fixture(scope="module")
def page(runs: Path) -> Path:
    write(runs, runs / "report.html")
    return runs / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield chromium
        chromium.close()


class Tab:
    """An open page that remembers complaints and requests."""

    def __init__(self, browser: Any, page: Path, **context: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**context)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(120_000)  # on a busy machine, a browser takes its time
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        began = time.monotonic()
        self.tab.goto(page.as_uri())
        self.tab.wait_for_selector("body[data-ready=yes]")
        self.seconds = time.monotonic() - began

    def column(self, number: int) -> list[str]:
        return self.tab.locator(f"#table tbody td:nth-child({number})").all_inner_texts()


@pytest.fixture
def tab(browser: Any, page: Path) -> Iterator[Tab]:
    opened = Tab(browser, page, viewport={"width": 1200, "height": 900})
    yield opened
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    opened.context.close()


def test_records_of_stored_runs_are_no_run_folders(tmp_path: Path) -> None:
    (tmp_path / "sensorless.jsonl").touch()
    with pytest.raises(FileNotFoundError, match=r"holds stored records.*give the folder of your runs"):
        write(tmp_path, tmp_path / "report.html")


@needs_browser
def test_tuned_networks_share_a_table_with_their_settings_below(browser: Any, tmp_path: Path) -> None:
    for seed in range(2):
        write_run(tmp_path, "relu", seed, 0.90)
        write_run(tmp_path, "kaf", seed, 0.95, hidden=(10,))
    chosen = {"learning_rate": 0.01, "weight_decay": 0.1, "dropout": 0.1, "hidden": [10]}
    stored = tmp_path / "compare" / "rows-123456" / "tuned.json"
    stored.write_text(json.dumps({"relu": {}, "kaf": chosen}))
    write(tmp_path, tmp_path / "report.html")
    opened = Tab(browser, tmp_path / "report.html")
    assert opened.column(2) == ["kaf", "relu"]
    told = "Tuned: relu: as given; kaf: hidden 10 x 1, learning_rate 0.01, weight_decay 0.1, dropout 0.1."
    assert told in opened.tab.inner_text("#ranking-note")
    assert opened.tab.inner_text("#summary").endswith("tuned hidden layers.")
    assert opened.complaints == []
    opened.context.close()


@needs_browser
def test_the_table_sorts_and_filters(tab: Tab) -> None:
    assert tab.column(2) == ["kaf", "kaf2d", "relu", EVIL]
    tab.tab.get_by_role("button", name="parameters").click()
    assert tab.column(2)[0] == "kaf"
    tab.tab.get_by_role("button", name="parameters").click()
    assert tab.column(2)[0] == EVIL
    assert tab.tab.locator("th[aria-sort=descending]").inner_text().startswith("parameters")
    tab.tab.get_by_role("button", name="test accuracy").press("Enter")
    assert tab.column(3)[0] == "0.9600 ± 0.0100"
    tab.tab.get_by_label("Show only").fill("kaf")
    assert tab.column(2) == ["kaf", "kaf2d"]
    assert tab.tab.locator("#shown").inner_text() == "2 of 4"


@needs_browser
def test_the_slider_moves_the_functions(tab: Tab) -> None:
    def heights() -> Any:
        return tab.tab.evaluate(
            "document.getElementById('gallery').data.filter((t) => t.mode === 'lines').at(-1).y.slice(0, 5)"
        )

    assert tab.tab.locator("#moment-name").inner_text() == "end"
    last = heights()
    slider = tab.tab.get_by_label("Moment")
    slider.press("ArrowLeft")
    assert tab.tab.locator("#moment-name").inner_text() == "epoch 4"
    assert slider.get_attribute("aria-valuetext") == "epoch 4"
    assert heights() != last
    slider.press("Home")
    assert tab.tab.locator("#moment-name").inner_text() == "start"
    tab.tab.get_by_role("button", name="Play").click()
    playwright.expect(tab.tab.locator("#moment-name")).to_have_text("end", timeout=10_000)
    playwright.expect(tab.tab.locator("#play")).to_have_text("Play", timeout=5_000)
    assert heights() == last


@needs_browser
def test_what_the_monitor_saw_is_shown(tab: Tab) -> None:
    assert tab.tab.get_by_label("Monitored network").locator("option").all_inner_texts() == ["kaf"]
    shown = tab.tab.evaluate("document.getElementById('watched').data.map(({ name, y }) => [name, y])")
    assert shown == [["layer 1", [0.3, 0.15, 0.1, 0.075, 0.06]], ["layer 1", [1.5] * 5]]
    assert tab.tab.locator("#watched-table td").all_inner_texts() == ["1", "6.0 %", "1.5"]


@needs_browser
def test_all_functions_are_reachable(tab: Tab) -> None:
    assert tab.tab.locator("#neurons").inner_text() == "neurons 0 to 11 of 20"
    tab.tab.get_by_label("Moment").press("Home")
    tab.tab.get_by_role("button", name="Next").click()
    assert tab.tab.locator("#neurons").inner_text() == "neurons 12 to 19 of 20"
    words = tab.tab.locator("#words li").all_inner_texts()
    assert len(words) == 8
    assert words[0].startswith("neuron 12: ")
    # Only the first functions have snapshots by epoch.
    assert tab.tab.locator("#moment-name").inner_text() == "end"
    assert tab.tab.get_by_label("Moment").is_disabled()
    assert "stored for the first 12 functions only" in tab.tab.locator("#gallery-note").inner_text()
    assert tab.tab.evaluate("document.getElementById('gallery').data.filter((t) => t.mode).length") == 8
    tab.tab.get_by_label("From number").fill("5")
    tab.tab.get_by_label("From number").press("Enter")
    assert tab.tab.locator("#neurons").inner_text() == "neurons 5 to 16 of 20"
    tab.tab.get_by_role("button", name="Previous").click()
    assert tab.tab.locator("#neurons").inner_text() == "neurons 0 to 11 of 20"
    assert tab.tab.get_by_label("Moment").is_enabled()


@needs_browser
def test_the_dictionary_is_the_recorded_one(tab: Tab) -> None:
    marks = "document.getElementById('gallery').layout.shapes.slice(0, 2).map((line) => line.x0)"
    assert tab.tab.evaluate(marks) == [-2, 2]
    facts = tab.tab.locator("#facts").inner_text()
    assert facts == "kaf: 20 functions, one per neuron; dictionary from -2 to 2."
    tab.tab.get_by_label("Network", exact=True).select_option(label="relu (seed 0)")
    assert tab.tab.evaluate("document.getElementById('gallery').layout.shapes") == []


@needs_browser
@pytest.mark.parametrize(
    "model",
    [
        kafnets.mlp(3, (30, 4), 2, "kaf", boundary=2.5, tails="linear", base="silu"),
        kafnets.mlp(3, (8,), 2, "kaf2d", boundary=6.0),
        kafnets.edgewise_mlp(3, (5,), 2),
        kafnets.mlp(3, (20,), 2, "relu"),
    ],
)
def test_the_page_says_what_describe_says(browser: Any, tmp_path: Path, model: Any) -> None:
    data = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    write_run(tmp_path, "net", 0, 0.9, model=model, features=data)
    write(tmp_path, tmp_path / "report.html")
    opened = Tab(browser, tmp_path / "report.html", viewport={"width": 1200, "height": 900})
    described = kafnets.describe(model, data)
    for number, layer in enumerate(dict.fromkeys(shape.layer for shape in described), 1):
        opened.tab.get_by_label("Layer").select_option(label=str(number))
        wanted = [str(shape) for shape in described if shape.layer == layer]
        told: list[str] = []
        while True:
            told += opened.tab.locator("#words li").all_inner_texts()
            if opened.tab.get_by_role("button", name="Next").is_disabled():
                break
            opened.tab.get_by_role("button", name="Next").click()
        assert [text.split(": ", 1)[1] for text in told] == wanted
    assert opened.complaints == []
    opened.context.close()


COLUMNS = Columns(("age", "group", "income"), lambda _, scaled: 1000 * scaled)


def table_network(features: int = 3) -> torch.nn.Sequential:
    """With functions of the first and the last feature, of which the last matters most."""
    generator = torch.Generator().manual_seed(0)
    embedding = KAFEmbedding(features, [0, features - 1], generator=generator)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        first, last = torch.nn.Linear(embedding.out_features, 6), torch.nn.Linear(6, 1)
        first.weight.fill_(0.01)
        first.weight[:, features - 1] = 1.0
    return torch.nn.Sequential(embedding, first, kafnets.KAF(6, dim=-1, generator=generator), last)


@needs_browser
def test_functions_of_features_are_shown_by_feature(browser: Any, tmp_path: Path) -> None:
    data = torch.randn(300, 3, generator=torch.Generator().manual_seed(0))
    model = table_network()
    model[0].learn_quantiles(data)  # type: ignore[operator]
    write_run(tmp_path, "net", 0, 0.9, model=model, features=data, columns=COLUMNS)
    write(tmp_path, tmp_path / "report.html")
    opened = Tab(browser, tmp_path / "report.html", viewport={"width": 1200, "height": 900})
    page = opened.tab
    layers = page.get_by_label("Layer").locator("option").all_inner_texts()
    assert layers == ["features", "1"]
    assert page.locator("#facts").inner_text().startswith("KAFEmbedding: 4 functions for each of 2 features")
    assert page.locator("#neurons").inner_text() == "all features"
    titles, labels, traces = (
        page.evaluate(f"(({{ layout, data }}) => {what})(document.getElementById('gallery'))")
        for what in (
            "layout.annotations.map(({ text }) => text)",
            "layout.xaxis.ticktext",
            "data.filter((t) => t.mode === 'lines').map((t) => [t.name, t.line.dash, t.showlegend])",
        )
    )
    assert [title.split(" (")[0] for title in titles] == ["income", "age"]
    shares = [int(title.split(" (")[1].split(" %")[0]) for title in titles]
    assert shares[0] > 90
    assert shares[1] < 10
    middle = 1000 * float(data[:, 2].median())
    assert float(labels[2]) == pytest.approx(middle, rel=1e-2, abs=20)
    named = [name for name, _, listed in traces if listed]
    assert named == ["function 1", "function 2", "function 3", "function 4"]
    assert len({dash for _, dash, _ in traces}) == 4
    assert len(traces) == 16  # at the start and now
    described = [str(shape) for shape in kafnets.describe(model, data) if shape.feature == "feature 2"]
    assert page.locator("#words > li").first.locator("ol li").all_inner_texts() == described
    assert page.locator("#kinds").inner_text().startswith("At the end, of 8: ")
    assert opened.complaints == []
    opened.context.close()


def test_layers_are_called_alike_on_the_whole_page(tmp_path: Path) -> None:
    path = write_run(tmp_path, "net", 0, 0.9, model=table_network(), features=torch.randn(50, 3))
    report = json.loads((path / "report.json").read_text())
    for epoch in report["epochs"]:
        epoch |= {"0.functions/dead": 0.1, "2/dead": 0.2}
    (path / "report.json").write_text(json.dumps(report))
    marker = json.loads((path / "DONE").read_text())
    marker["sha256"]["report.json"] = hashlib.sha256((path / "report.json").read_bytes()).hexdigest()
    (path / "DONE").write_text(json.dumps(marker))
    (shown,) = payload(collect(tmp_path), "runs")[0]["comparisons"]
    (row,) = shown["rows"]
    assert [layer["title"] for layer in row["learned"]["layers"]] == ["features", "1"]
    assert list(row["watched"]["dead"]) == ["features", "1"]


@needs_browser
def test_figures_and_ranking_are_saved(tab: Tab) -> None:
    for chart in ("curves", "by-size", "gallery"):
        with tab.tab.expect_download() as download:
            tab.tab.locator(f"button[data-chart={chart}]").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert download.value.suggested_filename.endswith(f"{chart}.svg")
        assert text.startswith("<svg")
        assert "<img" not in text
    with tab.tab.expect_download() as download:
        tab.tab.get_by_role("button", name="Save as CSV").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["activation"] for row in rows] == ["kaf", "kaf2d", "relu", EVIL]
    assert float(rows[0]["test accuracy"]) == pytest.approx(0.96)
    assert float(rows[2]["standard deviation of accuracy"]) == pytest.approx(0.02)


@needs_browser
def test_functions_arrive_as_they_were_stored(tab: Tab, runs: Path) -> None:
    (path,) = runs.glob("compare/*/kaf-8/seed-0/shapes.npz")
    with np.load(path) as stored:
        for at, moment in enumerate(("start", "epoch 1", "epoch 2", "epoch 4", "end")):
            wanted = stored[f"1/{moment}/curves"][:, ::2].astype(float)
            drawn = tab.tab.evaluate(
                f"Array.from({{ length: {len(wanted)} }}, (_, n) => "
                f"functionOf(inspected()[gallery.setting].learned.layers[0], {at}, n))"
            )
            np.testing.assert_allclose(np.array(drawn), wanted, atol=2e-3)


@needs_browser
def test_hovering_tells_values(tab: Tab) -> None:
    tab.tab.locator("#curves").scroll_into_view_if_needed()
    third = tab.tab.evaluate(
        "(() => { const chart = document.getElementById('curves'), { xaxis, yaxis } = chart._fullLayout;"
        " return { x: xaxis.d2p(3), y: yaxis.d2p(chart.data[2].y[2]) }; })()"
    )
    tab.tab.locator("#curves .nsewdrag").first.hover(position=third)
    playwright.expect(tab.tab.locator("#curves .hoverlayer .hovertext").first).to_contain_text("in epoch")
    tab.tab.locator("#gallery").scroll_into_view_if_needed()
    tab.tab.locator("#gallery .nsewdrag").first.hover()
    playwright.expect(tab.tab.locator("#gallery .hoverlayer .hovertext").first).to_contain_text("at")


@needs_browser
def test_functions_of_two_inputs_are_heat_maps(tab: Tab) -> None:
    tab.tab.get_by_label("Network", exact=True).select_option(label="kaf2d (seed 0)")
    kinds = tab.tab.evaluate("document.getElementById('gallery').data.map((trace) => trace.type)")
    assert kinds == ["heatmap"] * 4
    scale = tab.tab.evaluate("document.getElementById('gallery').layout.coloraxis")
    assert scale["cmin"] < -2
    assert scale["cmax"] > 2
    assert "surface" in tab.tab.locator("#words").inner_text()


@needs_browser
def test_what_is_missing_and_where_it_comes_from(tab: Tab) -> None:
    missing = tab.tab.locator("#missing").inner_text()
    assert "Unfinished (1)" in missing
    assert "tanh-8/seed-0" in missing
    assert "Skipped (1)" in missing
    assert "its files were changed" in missing
    tab.tab.locator("summary").first.click()
    shown = tab.tab.locator("details[open]").inner_text()
    assert "Commit 0123456789ab" in shown
    assert '"batch_size": 100' in shown


@needs_browser
def test_text_from_data_is_text(tab: Tab) -> None:
    assert tab.tab.evaluate("window.hacked") is None
    assert tab.tab.locator("img").count() == 0
    tab.tab.get_by_label("Network", exact=True).select_option(index=3)
    tab.tab.get_by_label("Show", exact=True).select_option("losses")
    assert tab.tab.evaluate("window.hacked") is None
    assert tab.tab.locator("img").count() == 0


@needs_browser
def test_policies_are_ranked_by_reward_and_by_area(browser: Any, tmp_path: Path) -> None:
    for seed in range(3):
        write_run(tmp_path, "tanh", seed, 90.0 + seed, control=True, data="Swimmer-v5")
        write_run(tmp_path, "kaf", seed, 120.0 + 2 * seed, control=True, data="Swimmer-v5")
    write(tmp_path, tmp_path / "report.html")
    opened = Tab(browser, tmp_path / "report.html", viewport={"width": 1200, "height": 900})
    assert opened.column(3) == ["122.0 ± 2.0", "91.0 ± 1.0"]
    headings = opened.tab.locator("#table th").all_inner_texts()
    assert headings[2].startswith("test reward")
    assert headings[6:8] == ["test area", "p of the area"]
    assert headings[-1] == "parameters"
    assert opened.column(7) == ["61.0 ± 1.0", "45.5 ± 0.5"]
    assert opened.column(6)[1] == opened.column(8)[1] == "\u2013"  # tanh is the reference
    assert float(opened.column(8)[0]) < 0.05
    assert "by iteration" in (opened.tab.locator("#curves").get_attribute("aria-label") or "")
    assert opened.complaints == []


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1200])
def test_it_is_accessible_and_fits(browser: Any, page: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Tab(browser, page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    found = axe.Axe().run(opened.tab).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.complaints == []
    opened.context.close()


@needs_browser
def test_sixty_networks_open_quickly(browser: Any, tmp_path: Path) -> None:
    """Time is generous here: machines are noisy. The page's size is not."""
    for number in range(60):
        moments = ("start", "epoch 1", "epoch 2", "epoch 4", "epoch 8", "epoch 16", "epoch 32", "end")
        write_run(tmp_path, f"net{number}", 0, 0.9, neurons=100, moments=moments, epochs=60)
    write(tmp_path, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 10_000_000
    opened = Tab(browser, tmp_path / "report.html")
    assert opened.complaints == []
    assert len(opened.column(2)) == 60
    assert opened.seconds < 20
    opened.context.close()


@needs_browser
def test_an_empty_folder_is_no_error(browser: Any, tmp_path: Path) -> None:
    write_run(tmp_path, "tanh", 0, 0.5, finished=False)
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "0 runs, 1 unfinished" in result.output
    opened = Tab(browser, tmp_path / "report.html")
    assert "no finished run" in opened.tab.locator("#summary").inner_text()
    assert opened.complaints == []
    opened.context.close()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])
    assert result.exit_code == 2
    assert "give the folder of your runs" in result.output


def test_paths_are_printed_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "[red]r[/x] :smile:"
    write_run(folder, "kaf", 0, 0.9)
    result = CliRunner().invoke(app, ["report", str(folder)])
    assert result.exit_code == 0, result.output
    assert result.output == f"{folder}/report.html: 1 runs\n"


def test_damage_of_every_kind_is_named(tmp_path: Path) -> None:
    paths = [write_run(tmp_path, "kaf", seed, 0.9) for seed in range(4)]
    (paths[0] / "shapes.npz").write_bytes(b"nothing")
    (paths[1] / "DONE").write_text("not json")
    (paths[2] / "config.json").unlink()
    found = write(tmp_path, tmp_path / "report.html")
    assert len(found.runs) == 1
    assert len(found.skipped) == 3
    shutil.copytree(paths[3], paths[3].with_name("copy"))
    assert "the same setting and seed as" in str(write(tmp_path, tmp_path / "report.html").skipped)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("report.json", lambda content: content["data"].pop("task")),
        ("report.json", lambda content: content["data"].update(task="poetry")),
        ("report.json", lambda content: content.update(epochs={"nested": {"deep": [1]}})),
        ("report.json", lambda content: content["test"].update(accuracy="high")),
        ("report.json", lambda content: content.update(provenance=["x"])),
        ("report.json", lambda content: content.update(rows=[1])),
        ("config.json", lambda content: content.update(label={"a": {"b": 1}})),
        ("config.json", lambda content: content.update(table={"target": {"a": 1}})),
        ("config.json", lambda content: content.update(options=json.loads("[" * 40 + "]" * 40))),
        ("config.json", lambda content: content.pop("hidden")),
    ],
)
def test_one_odd_folder_does_not_keep_the_others_from_their_page(
    tmp_path: Path, name: str, change: Callable[[Any], object]
) -> None:
    for seed in range(2):
        write_run(tmp_path, "kaf", seed, 0.9)
    odd = write_run(tmp_path, "odd", 0, 0.5)
    content = json.loads((odd / name).read_text())
    change(content)
    (odd / name).write_text(json.dumps(content))
    marker = json.loads((odd / "DONE").read_text())
    marker["sha256"][name] = hashlib.sha256((odd / name).read_bytes()).hexdigest()
    (odd / "DONE").write_text(json.dumps(marker))
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "2 runs, 1 skipped" in result.output
    assert "odd-8/seed-0" in result.output


def test_json_without_end_is_named_too(tmp_path: Path) -> None:
    write_run(tmp_path, "kaf", 0, 0.9)
    odd = write_run(tmp_path, "odd", 0, 0.5)
    (odd / "DONE").write_text("[" * 100_000)
    found = write(tmp_path, tmp_path / "report.html")
    assert len(found.runs) == len(found.skipped) == 1


def test_stored_runs_without_a_record_still_have_their_dictionary(tmp_path: Path) -> None:
    run = read(write_run(tmp_path, "kaf", 0, 0.9))
    run.record.config["options"]["boundary"] = 2.0
    with np.load(run.path / "shapes.npz") as stored:
        arrays = {name: stored[name] for name in stored if name != "layers"}
    np.savez(run.path / "shapes.npz", **arrays)
    (layer,) = run.functions()
    assert layer.dictionary == (-2.0, 2.0)
    assert layer.count is None


def test_the_ranking_is_the_one_of_terminal_and_notebook(runs: Path) -> None:
    found = collect(runs)
    wanted = rank([run.record for run in found.runs])
    (shown,) = payload(found, "runs")[0]["comparisons"]
    assert [{key: row[key] for key in wanted.numbers()[0]} for row in shown["rows"]] == wanted.numbers()
    assert (shown["reference"], shown["test"], shown["verdict"]) == ("relu", wanted.test, wanted.verdict)
    assert "Each is tested against relu" in shown["test"]


def test_nothing_is_fetched_and_nothing_can_end_the_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    begin = text.index('<script id="data"')
    data = text[begin : text.index("</script>", begin)]
    assert "onerror" in data
    assert "<img" not in data
    assert '<link rel="stylesheet"' not in text
    assert "<script src" not in text
