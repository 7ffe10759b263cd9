"""The command line as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import kafnets
from kafnets.cli import app
from kafnets.cli.refusals import refusing
from kafnets.cli.sweeping import sizes_by_epoch, words


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
