"""kafnets.compare in a notebook, run by a real kernel, beside the command."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison import plan

CELLS = (
    """
    import json, kafnets
    found = kafnets.compare("rows.csv", target="y", activations=["kaf"], seeds=2, epochs=4, hidden=(6,),
                            output="notebook")
    """,
    "found",
    "found.plot()",
    "print(json.dumps([found.ranking.to_dict('records'), found.best.predict('rows.csv').tolist()]))",
)


def outputs(cell: Any, kind: str) -> str:
    """All that a cell shows of one kind: a MIME type, or the name of a stream."""
    return "".join(
        each["text"] if each.get("name") == kind else each.get("data", {}).get(kind, "")
        for each in cell["outputs"]
    )


def test_a_notebook_and_the_command_give_the_same_ranking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(plan, "SECONDS_OF_TIMING", 0.01)
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=120), "b [/x]": generator.choice(["u", "v"], 120)})
    frame["y"] = (frame["a"] + (frame["b [/x]"] == "u") > 0.5).astype(int)
    frame.to_csv("rows.csv", index=False)

    made: Any = nbformat.v4  # its functions have no types
    notebook = made.new_notebook(cells=[made.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(tmp_path))
    trained, shown, drawn, told = notebook.cells
    assert "4/4" in outputs(trained, "stderr")  # the progress bar, which has come to its end
    assert "relu, 1 layer, seed 1: trained" in outputs(trained, "stderr")
    ranking, predicted = json.loads(outputs(told, "stdout"))
    html = outputs(shown, "text/html")
    assert "<caption>rows.csv: binary, 2 seeds</caption>" in html
    assert all(f"<td>{row['activation']}</td><td>{row['mean']:.4f} ± " in html for row in ranking)
    assert outputs(drawn, "image/png")

    command = "compare rows.csv --target y --activations kaf --seeds 2 --epochs 4 --hidden 6 --jobs 2"
    result = CliRunner().invoke(app, [*shlex.split(command), "--output", "runs [/x]"])
    assert result.exit_code == 0, result.output
    assert "runs [/x]/compare/rows-" in result.output
    (stored,), (folder,) = Path("runs [/x]").rglob("ranking.json"), Path("notebook", "compare").iterdir()
    assert stored.parent.name == folder.name
    rows = json.loads(stored.read_text())["rows"]
    for ours, theirs in zip(ranking, rows, strict=True):
        assert ours.keys() - theirs.keys() == set()
        for name, value in ours.items():
            missing = isinstance(value, float) and math.isnan(value)
            assert name == "step_time" or theirs[name] == (None if missing else value), name
    best = CliRunner().invoke(app, ["predict", str(stored.parent / "best"), "rows.csv"])
    assert best.output.splitlines() == ["y", *map(str, predicted)]
    assert not list(tmp_path.rglob(".rows"))  # they have had their day
