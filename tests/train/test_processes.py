"""The same loop in several processes, in lower precision, and compiled."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import kafnets
from kafnets import data
from kafnets.cli import app
from kafnets.train import Settings, fit
from kafnets.train.processes import OneProcess, device_of, processes_for

SETTINGS = Settings(epochs=4, patience=4, batch_size=33)
"""Such batches do not divide evenly between two processes, and the last one of digits has 3 rows."""

PROGRAM = """
import json, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from kafnets.comparison.runner import execute
from kafnets.train.runs import RunFolder
sys.path.insert(0, sys.argv[2])
from tests.train.test_processes import description
output = Path(sys.argv[1])
for _ in range(2):
    print(execute(description(int(sys.argv[3])), output))
"""


def description(epochs: int) -> Any:
    from kafnets.comparison.plan import plan

    settings = replace(SETTINGS, epochs=epochs)
    # Without dropout, which each process draws for itself.
    return plan("digits", None, ["kaf"], hidden=(20,), dropout=0.0, seeds=1, settings=settings).networks[0]


def torchrun(output: Path, epochs: int) -> str:
    program = output / "program.py"
    program.write_text(PROGRAM)
    repository = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(program), str(output), str(repository), str(epochs)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=output)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    pytest.importorskip("lightning_fabric")
    one = description(4)
    splits = one.load()
    alone = fit(one.build(splits), splits, one.settings, seed=one.seed)
    told = torchrun(tmp_path, 4)
    assert (told.count("trained"), told.count("found finished")) == (2, 2)
    report = json.loads(next(tmp_path.rglob("report.json")).read_text())
    assert report["processes"] == 2
    assert [row["train_loss"] for row in report["epochs"]] == pytest.approx(
        [row["train_loss"] for row in alone.epochs], rel=1e-4
    )
    assert report["test"]["loss"] == pytest.approx(alone.test["loss"], rel=1e-3)
    weights = torch.load(next(tmp_path.rglob("model.pt")), weights_only=True)
    for name, value in alone.model.state_dict().items():
        torch.testing.assert_close(weights[name], value, rtol=1e-3, atol=1e-4)


MIXED = """
import torch, kafnets
from kafnets import data
from kafnets.train import Settings, fit
torch.set_num_threads(1)
splits = data.load("digits")
model = kafnets.mlp(splits.inputs, (20,), splits.outputs, generator=torch.Generator().manual_seed(0))
seen = set()
model[0].register_forward_hook(lambda module, inputs, output: seen.add(output.dtype))
trained = fit(model, splits, Settings(epochs=25, precision="bf16-mixed"))
assert seen == {torch.bfloat16}, seen
assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
print(trained.test["accuracy"])
"""


def test_mixed_precision() -> None:
    pytest.importorskip("lightning_fabric")
    # Some virtual machines claim matrix instructions that they do not have, and oneDNN believes them.
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
    ended = subprocess.run(
        [sys.executable, "-c", MIXED], capture_output=True, text=True, timeout=300, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) > 0.85


def test_compiled() -> None:
    splits = data.load("digits")
    settings = Settings(epochs=2, patience=2)
    plain, compiled = (
        fit(
            kafnets.mlp(splits.inputs, (20,), splits.outputs, generator=torch.Generator().manual_seed(0)),
            splits,
            chosen,
        )
        for chosen in (settings, replace(settings, compile=True))
    )
    assert [row["train_loss"] for row in compiled.epochs] == pytest.approx(
        [row["train_loss"] for row in plain.epochs], rel=1e-4
    )


def test_one_process_needs_nothing_else() -> None:
    assert isinstance(processes_for(Settings()), OneProcess)
    with pytest.raises(ValueError, match="precision must be one of 32-true, bf16-mixed, 16-mixed, got '64'"):
        Settings(precision="64")


def test_a_state_of_more_processes_is_refused() -> None:
    splits = data.load("iris")
    model = kafnets.mlp(splits.inputs, (4,), splits.outputs)
    states: list[Any] = []
    fit(model, splits, Settings(epochs=1), save=states.append)
    states[0]["noise"]["cpu"] = states[0]["noise"]["cpu"].repeat(2, 1)
    with pytest.raises(ValueError, match="the run was begun by 2 processes on CPUs"):
        fit(model, splits, Settings(epochs=2), resume=states[0])


RESUMED = """
import copy, torch
torch.set_num_threads(1)
import kafnets
from kafnets import data
from kafnets.train import Settings, fit
from kafnets.train.processes import processes_for

splits = data.load("iris")
settings = Settings(epochs=4, patience=4, batch_size=20)
fabric = processes_for(settings)
states = []


def trained(resume=None):
    network = kafnets.mlp(4, (6,), 3, "rrelu", dropout=0.2, generator=torch.Generator().manual_seed(0))
    save = lambda state: states.append(copy.deepcopy(state))
    return fit(network, splits, settings, resume=resume, save=save)


whole = trained()
again = trained(fabric.broadcast(states[1] if states else None))
same = all(torch.equal(a, b) for a, b in zip(whole.model.parameters(), again.model.parameters()))
print(f"same={same and whole.epochs == again.epochs}")
"""


def test_two_processes_go_on_to_the_last_bit(tmp_path: Path) -> None:
    pytest.importorskip("lightning_fabric")
    (tmp_path / "program.py").write_text(RESUMED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ended = subprocess.run(
        [*command, "program.py"], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("same=True") == 2


def test_the_command_under_torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes train, one of them tells; each refuses what they cannot do together."""
    pytest.importorskip("lightning_fabric")
    (tmp_path / "program.py").write_text("from kafnets.cli import main; main()")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["compare", "--data", "iris", "--seeds", "2", "--epochs", "2", "--hidden", "8"]
    ended = subprocess.run(
        [*torchrun, "program.py", *command, "--activations", "relu", "--output", "runs"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("To use it") == 1
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")  # as torchrun does
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = CliRunner().invoke(app, [*command, "--jobs", "2", "--output", str(tmp_path)])
    assert refused.exit_code != 0
    assert "omit --jobs" in refused.stderr


def test_devices_that_are_none() -> None:
    for wrong in ("gpu", 7.5):
        with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'auto'"):
            Settings(device=wrong)  # type: ignore[arg-type]
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' needs a GPU that torch sees"):
            device_of(Settings(device="cuda"))
