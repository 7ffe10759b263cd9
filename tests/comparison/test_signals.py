"""Sweeps that are killed, interrupted and hung up on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.comparison.test_sweep import at_work, children_of, command_of, wait_until

# Says so when the command has begun to look after signals: until then it is Python that is interrupted.
PROGRAM = (
    "from kafnets import cli; app = cli.app; cli.app = lambda: (print('up', flush=True), app()); cli.main()"
)
pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")


def command(output: Path, *more: str, epochs: int = 500) -> list[str]:
    options = ["--jobs", "2", "--epochs", str(epochs), "--seeds", "2", "--activations", "kaf"]
    return [
        sys.executable,
        "-c",
        PROGRAM,
        "compare",
        "--data",
        "digits",
        *options,
        "--output",
        str(output),
        *more,
    ]


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


def test_a_killed_worker_is_named_and_the_others_go_on(begin: Any, tmp_path: Path) -> None:
    process = begin(command(tmp_path, "--hidden", "8", epochs=60))
    wait_until(lambda: len(list(tmp_path.rglob("checkpoint.pt"))) >= 1)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "was killed, possibly for lack of memory" in output
    assert "Traceback" not in output
    assert len(list(tmp_path.rglob("DONE"))) == 3
    again = subprocess.run(
        command(tmp_path, "--hidden", "8", epochs=60), capture_output=True, text=True, check=True
    )
    assert "1 trained" in again.stderr
    assert len(list(tmp_path.rglob("DONE"))) == 4


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0, 5.0, 10.0])
def test_ctrl_c_at_any_moment_leaves_neither_traceback_nor_workers(
    seconds: float, begin: Any, tmp_path: Path
) -> None:
    process = begin(command(tmp_path))
    assert process.stdout.readline() == "up\n"
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, _ = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT), output
    assert "Traceback" not in output
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


def test_killed_at_random_moments_it_ends_in_the_same_bits(begin: Any, tmp_path: Path) -> None:
    generator = random.Random(0)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    begin(command(whole, "--hidden", "8", epochs=25)).communicate(timeout=300)
    for _ in range(4):
        process = begin(command(broken, "--hidden", "8", epochs=25))
        time.sleep(generator.uniform(2, 8))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = begin(command(broken, "--hidden", "8", epochs=25))
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
