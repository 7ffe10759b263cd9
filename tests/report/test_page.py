"""The page, in a real browser: people sort, filter, slide and hover."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.report import write
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
        write_run(root, "relu", seed, 0.90 + 0.01 * seed)
        write_run(root, "kaf", seed, 0.95 + 0.01 * seed, neurons=20)
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
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        began = time.monotonic()
        self.tab.goto(page.as_uri())
        self.tab.wait_for_selector("body[data-ready=yes]", timeout=30_000)
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
    tab.tab.get_by_role("button", name="Next neurons").click()
    assert tab.tab.locator("#neurons").inner_text() == "neurons 12 to 19 of 20 stored"
    assert len(tab.tab.locator("#words li").all()) == 8


@needs_browser
def test_functions_arrive_as_they_were_stored(tab: Tab, runs: Path) -> None:
    (path,) = runs.glob("compare/*/kaf-8/seed-0/shapes.npz")
    with np.load(path) as stored:
        for at, moment in enumerate(("start", "epoch 1", "epoch 2", "epoch 4", "end")):
            wanted = stored[f"1/{moment}/curves"][:, ::2].astype(float)
            drawn = tab.tab.evaluate(
                f"filmed()[gallery.setting].film.layers[0].curves.map((piece) => unpacked(piece)[{at}])"
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
    tab.tab.get_by_label("Network", exact=True).select_option(label="kaf2d, 8 (seed 0)")
    kinds = tab.tab.evaluate("document.getElementById('gallery').data.map((trace) => trace.type)")
    assert kinds == ["heatmap"] * 4
    assert "surface" in tab.tab.locator("#words").inner_text()


@needs_browser
def test_what_is_missing_and_where_it_comes_from(tab: Tab) -> None:
    missing = tab.tab.locator("#missing").inner_text()
    assert "Unfinished (1)" in missing
    assert "tanh-8/seed-0" in missing
    assert "Damaged (1)" in missing
    assert "its files are not what they were" in missing
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
    assert headings[-1] == "seconds an iteration"
    assert opened.column(7) == ["61.0 ± 1.0", "45.5 ± 0.5"]
    assert opened.column(6)[0] == opened.column(8)[0] == "\u2013"
    assert float(opened.column(8)[1]) < 0.05
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


def test_damage_of_every_kind_is_named(tmp_path: Path) -> None:
    paths = [write_run(tmp_path, "kaf", seed, 0.9) for seed in range(4)]
    (paths[0] / "shapes.npz").write_bytes(b"nothing")
    (paths[1] / "DONE").write_text("not json")
    (paths[2] / "config.json").unlink()
    found = write(tmp_path, tmp_path / "report.html")
    assert len(found.runs) == 1
    assert len(found.damaged) == 3
    shutil.copytree(paths[3], paths[3].with_name("copy"))
    assert "the same setting and seed as" in str(write(tmp_path, tmp_path / "report.html").damaged)


def test_nothing_is_fetched_and_nothing_can_end_the_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    begin = text.index('<script id="data"')
    data = text[begin : text.index("</script>", begin)]
    assert "onerror" in data
    assert "<img" not in data
    assert '<link rel="stylesheet"' not in text
    assert "<script src" not in text
