"""Draw the README's pictures: python scripts/draw_readme.py RUNS

docs/images/learned.png are KAFs and 2D-KAFs that were trained on Sensorless, from the store;
docs/images/report.png is the page of `kafnets report` on the folder RUNS, as Chromium shows it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from kafnets.paper.evidence import Evidence
from kafnets.paper.figures.results import sensorless_shapes
from kafnets.plot import stored_shapes, style
from kafnets.report import write

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def draw_learned() -> None:
    """Twelve KAFs above six 2D-KAFs."""
    figure, panels = style.grid(18, 6, width=2.0, height=1.7)
    for label, places, neurons in (("kaf", panels[:12], 12), ("kaf2d", panels[12:], 6)):
        stored = sensorless_shapes(Evidence.of(ROOT), label)
        stored_shapes(stored, layer="1", neurons=neurons, axes=places)
    for panel in panels:
        panel.set_title("")
    for panel in panels[12:]:
        panel.set_xlim(-4, 4)
        panel.set_ylim(-4, 4)
    figure.savefig(IMAGES / "learned.png", dpi=110)


def draw_page(runs: Path) -> None:
    """Its gallery."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        write(runs, page)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1200, "height": 1000})
        tab.goto(page.as_uri())
        tab.wait_for_selector("body[data-ready=yes]")
        tab.get_by_label("Network", exact=True).select_option(label="kaf (seed 0)")
        tab.wait_for_timeout(1000)
        tab.locator("#gallery-title").evaluate("(title) => title.scrollIntoView()")
        tab.screenshot(path=IMAGES / "report.png")
        browser.close()


if __name__ == "__main__":
    draw_learned()
    draw_page(Path(sys.argv[1]))
