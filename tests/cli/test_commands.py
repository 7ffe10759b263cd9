"""The command line as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import kafnets
from kafnets.cli import app
from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import sizes_by_epoch, words
from kafnets.comparison.table import Table


def run(*arguments: str, columns: int = 80) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.output


def test_help_does_without_torch() -> None:
    program = "import sys, kafnets.cli; sys.argv = ['kafnets', '--help']\ntry: kafnets.cli.main()\n"
    program += "finally: assert not {'torch', 'numpy', 'pandas'} & set(sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "--install-completion" in shown.stdout


def test_an_interrupt_while_it_starts_leaves_no_traceback() -> None:
    program = (
        "import sys\nclass Interrupt:\n def find_spec(self, name, *_):\n"
        "  if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\nimport kafnets.cli"
    )
    stopped = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert stopped.returncode == 130
    assert stopped.stderr == ""


def test_errors_of_the_system_name_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for fail in (tmp_path.read_text, lambda: os.replace(tmp_path / "none", tmp_path / "there")):
        with pytest.raises(typer.Exit), refusing():
            fail()
    told = capsys.readouterr().err.splitlines()
    assert told == [f"{tmp_path}: Is a directory", f"{tmp_path / 'there'}: No such file or directory"]


def test_near_names_of_commands_are_suggested() -> None:
    result = CliRunner().invoke(app, ["comparre"])
    assert result.exit_code == 2
    assert "Did you mean 'compare'" in result.output


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("compare --activations relu,ka", ["relu,kaf", "relu,kaf2d", "relu,kaf_glu"]),
        ("compare --data dig", ["digits"]),
        ("data get dig", ["digits"]),
        ("reproduce wider --data wine,dig", ["wine,digits"]),
        ("reproduce sensorless --activations kaf2", ["kaf2d"]),
    ],
)
def test_the_shell_completes_names(typed: str, suggested: list[str]) -> None:
    words = {"COMP_WORDS": f"kafnets {typed}", "COMP_CWORD": str(len(typed.split()))}
    asked = {"_KAFNETS_COMPLETE": "complete_bash"} | words
    result = CliRunner().invoke(app, [], env=asked, prog_name="kafnets")
    assert result.output.split() == suggested


def test_activations_as_json() -> None:
    rows = json.loads(run("list", "--json"))
    assert [row["name"] for row in rows] == kafnets.names()
    assert all(row["formula"] for row in rows)
    assert [row["name"] for row in json.loads(run("list", "--family", "splines", "--json"))] == ["saf"]


def test_the_list_fits_into_80_columns() -> None:
    lines = run("list").splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert "Agostinelli" in run("list", columns=120)


def test_tables_leave_out_then_wrap_and_never_cut() -> None:
    names = ("kaf(base=silu,tails=linear)", "gradient boosting")
    rows = tuple((name, "0.9000 ± 0.0100", "-0.0001 [-0.0351, +0.0349]", "12,345") for name in names)
    table = Table("Ranking", ("activation", "test auc", "vs. relu", "parameters"), rows, "", ("parameters",))
    shown = {}
    for width in (60, 80, 100):
        with (console := Console(width=width)).capture() as captured:
            console.print(table)
        shown[width] = captured.get()
        assert max(map(len, shown[width].splitlines())) <= width
        assert all(name in shown[width] for name in names)
        assert "…" not in shown[width]
    assert "wider terminals also show: parameters" in shown[80]
    assert rows[0][2] in shown[80]
    assert rows[0][2] not in shown[60]
    assert all(text in shown[100] for row in rows for text in row)
    with (console := Console(width=80)).capture() as captured:
        console.print(Table("Empty", ("p", "p"), ()))
    assert "p  p" in captured.get()


def test_data_sets_as_json() -> None:
    rows = {row["name"]: row for row in json.loads(run("data", "list", "--json"))}
    assert rows["sensorless_sample"]["here"] is True
    assert rows["sensorless"]["rows"] == 58509


def test_words_keep_options_together_and_sizes_go_by_epochs() -> None:
    assert words("relu, kaf(base=silu,tails=linear),apl") == ["relu", "kaf(base=silu,tails=linear)", "apl"]
    assert sizes_by_epoch("10:20,30:40") == {10: 20, 30: 40}
    assert sizes_by_epoch("") is None
    with pytest.raises(typer.Exit):
        sizes_by_epoch("20")
