"""The paper's figures and tables, from code."""

from pathlib import Path

from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.paper.figures import FIGURES, TABLES

RESULTS = Path(__file__).parents[2] / "results"


def test_every_figure_and_table_is_written_or_says_why_not(tmp_path: Path) -> None:
    command = ["figures", "--output", str(tmp_path), "--results", str(RESULTS)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    for name in FIGURES:
        if f"{name}: written" in result.output:
            assert (tmp_path / f"{name}.png").stat().st_size > 5000
            assert (tmp_path / f"{name}.pdf").exists()
        else:
            assert f"{name}: no stored" in result.output
    for name in ("figure-6-trained-kafs", "figure-7-trained-2d-kafs"):
        assert f"{name}: written" in result.output  # their results are committed
    assert [name.split("-")[1] for name in FIGURES] == list("123456789")
    for name in TABLES:
        assert (tmp_path / f"{name}.md").exists()
    two = (tmp_path / "table-2-susy.md").read_text()
    assert "sample" in two.splitlines()[0]
    assert "| ReLU, 5 layers | 0.8" in two
    assert two.count("\n| ") == 12 + 2


def test_without_results_it_says_how_to_get_them(tmp_path: Path) -> None:
    command = ["figures", "--output", str(tmp_path / "out"), "--results", str(tmp_path / "none")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "figure-6-trained-kafs: no stored run of kaf: kafnets reproduce sensorless" in result.output
    assert "table-2-susy: no stored results: run kafnets reproduce susy" in result.output
    assert "figure-3-kafs-by-bandwidth: written" in result.output
