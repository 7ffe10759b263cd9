"""Sweeps that are killed, interrupted and hung up on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafnets.cli import app
from kafnets.comparison import plan
from tests.comparison.test_sweep import at_work, children_of, command_of, wait_until

# Says so when the command has begun to look after signals: until then it is Python that is interrupted.
PROGRAM = (
    "from kafnets import cli; app = cli.app; cli.app = lambda: (print('up', flush=True), app()); cli.main()"
)
pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")


def options(output: Path, *more: str) -> list[str]:
    data = ["--data", "digits", "--seeds", "2", "--activations", "kaf"]
    return ["compare", *data, "--output", str(output), *more]


def command(output: Path) -> list[str]:
    """That goes on for long."""
    return [sys.executable, "-c", PROGRAM, *options(output, "--jobs", "2", "--epochs", "500")]


SMALL = ("--hidden", "8", "--epochs", "60")


def small_command(output: Path) -> list[str]:
    """That comes to its end, and does not take a second to time a step."""
    program = f"from kafnets.comparison import plan; plan.SECONDS_OF_TIMING = 0.01; {PROGRAM}"
    return [sys.executable, "-c", program, *options(output, "--jobs", "2", *SMALL)]


def run_here(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> str:
    """To the end, without other processes; returns what was told."""
    monkeypatch.setattr(plan, "SECONDS_OF_TIMING", 0.01)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.fixture
def begin() -> Iterator[Any]:
    begun: list[subprocess.Popen[str]] = []

    def start(arguments: list[str]) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            arguments,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Where tests run in the background, a shell may have told all processes to ignore these.
            preexec_fn=lambda: [
                signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)
            ],
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def workers_of(process: "subprocess.Popen[str]") -> list[int]:
    return [each for each in children_of(process.pid) if "spawn_main" in command_of(each)]


def test_a_killed_worker_is_named_and_the_others_go_on(
    begin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = begin(small_command(tmp_path))
    wait_until(lambda: len(list(tmp_path.rglob("checkpoint.pt"))) >= 1)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "was killed, possibly for lack of memory" in output
    assert "Traceback" not in output
    assert len(list(tmp_path.rglob("DONE"))) == 3
    assert "1 trained" in run_here(monkeypatch, options(tmp_path, *SMALL))
    assert len(list(tmp_path.rglob("DONE"))) == 4


@pytest.mark.parametrize("moment", [0.0, 0.5, 2.0, "training"])
def test_ctrl_c_at_any_moment_leaves_neither_traceback_nor_workers(
    moment: float | str, begin: Any, tmp_path: Path
) -> None:
    process = begin(command(tmp_path))
    assert process.stdout.readline() == "up\n"
    if isinstance(moment, float):  # seconds, in which it imports, reads and starts workers
        time.sleep(moment)
    else:
        wait_until(lambda: bool(checkpoints(tmp_path)))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, _ = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT), output
    assert "Traceback" not in output
    if moment == "training":
        assert process.returncode == 130
        assert "the same command resumes them" in " ".join(output.split())
        assert checkpoints(tmp_path)
    wait_until(lambda: not in_session(process.pid))


def test_hang_up_leaves_no_workers(begin: Any, tmp_path: Path) -> None:
    process = begin(command(tmp_path))
    wait_until(lambda: len(workers_of(process)) >= 1)
    process.send_signal(signal.SIGHUP)  # to the first process alone
    process.wait(timeout=60)
    wait_until(lambda: not in_session(process.pid))


def in_session(session: int) -> list[int]:
    """Processes of a session that are at work."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and at_work(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def checkpoints(output: Path) -> set[tuple[Path, int]]:
    """Every state of training that is stored now."""
    found = set()
    for path in output.rglob("checkpoint.pt"):
        with suppress(FileNotFoundError):  # finished in between
            found.add((path, path.stat().st_mtime_ns))
    return found


def test_killed_at_random_moments_it_ends_in_the_same_bits(
    begin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(0)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run_here(monkeypatch, options(whole, *SMALL))
    for _ in range(2):  # while it trains: before that, there is nothing to lose
        process, before = begin(small_command(broken)), checkpoints(broken)
        wait_until(lambda: process.poll() is not None or bool(checkpoints(broken) - before))  # noqa: B023
        time.sleep(generator.uniform(0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = begin(small_command(broken))
    output, _ = last.communicate(timeout=300)
    assert last.returncode == 0, output
    first, second = (ranking(folder) for folder in (whole, broken))
    assert first == second
    assert weights(whole) == weights(broken)
    assert not list(broken.rglob(".*.pt"))  # nothing half-written is left


def ranking(output: Path) -> Any:
    (path,) = output.rglob("ranking.json")
    content = json.loads(path.read_text())
    return content | {"rows": [row | {"step_time": None} for row in content["rows"]]}


def weights(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*.pt"))}
