"""Putting the page together: one file, which opens from a disk and asks no network for anything."""

import json
from importlib.resources import files
from pathlib import Path
from string import Template

from kafnets.files import written_at_once
from kafnets.report.collect import Collection, collect, plain
from kafnets.report.payload import compressed, payload


def write(runs: Path, output: Path) -> Collection:
    """Write a page about all run folders below ``runs``; tells what was found there."""
    found = collect(runs)
    content, functions = payload(found, runs.resolve().name)
    with written_at_once(output) as temporary:
        temporary.write_text(_page(content, functions), encoding="utf-8")
    return found


def _page(content: dict[str, object], functions: str) -> str:
    from plotly.offline import get_plotlyjs

    here = files("kafnets.report")
    parts = {name: (here / f"page.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")}
    return Template(parts["html"]).substitute(
        style=parts["css"],
        charts=compressed(get_plotlyjs().encode()),
        data=as_script(content),
        functions=functions,
        script=parts["js"],
    )


def as_script(content: dict[str, object]) -> str:
    """JSON that cannot end the element it stands in: whatever a table's columns are called."""
    text = json.dumps(plain(content, 60), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
