"""Networks as C: compiled with all warnings and sanitizers, equal to torch."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import kafnets

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

MAIN = """#include <stdio.h>
#include "model.h"
int main(void) {
  float x[NETWORK_INPUTS], y[NETWORK_OUTPUTS];
  for (;;) {
    for (int i = 0; i < NETWORK_INPUTS; ++i) if (scanf("%f", &x[i]) != 1) return 0;
    network(x, y);
    for (int i = 0; i < NETWORK_OUTPUTS; ++i) printf("%.9g ", (double)y[i]);
  }
}
"""


def compiled(folder: Path, compiler: str) -> Any:
    """Runs rows through the program in ``folder``, under sanitizers."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    command = [compiler, *FLAGS, *SANITIZERS, "main.c", "model.c", "-lm", "-o", "model"]
    subprocess.run(command, cwd=folder, check=True)

    def run(rows: np.ndarray) -> np.ndarray:
        text = " ".join(f"{each:.9g}" for each in rows.ravel())
        found = subprocess.run([folder / "model"], input=text, capture_output=True, text=True, check=True)
        return np.array(found.stdout.split(), dtype=np.float32).reshape(len(rows), -1)

    return run


def network() -> nn.Sequential:
    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(7, 12), kafnets.KAF(12), nn.Dropout(0.5), nn.Linear(12, 10, bias=False))
    shared = nn.Sequential(kafnets.KAF(10, groups=2, tails="linear"), nn.Linear(10, 6), kafnets.KAF())
    fixed = [nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.SiLU(), nn.Softplus(), nn.Mish(), nn.GELU(), nn.ELU(0.7)]
    more = [nn.SELU(), nn.LeakyReLU(0.2), kafnets.zoo.RReLU()]
    layers = [each for one in (*fixed, *more) for each in (nn.Linear(6, 6), one)]
    return nn.Sequential(first, shared, *layers, nn.Linear(6, 3)).eval()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("bits", [32, 8])
def test_the_program_gives_torchs_numbers(compiler: str, bits: Any, tmp_path: Path) -> None:
    baked = kafnets.bake(network(), bits=bits)
    kafnets.export_c(baked, tmp_path / "model.c")
    rows = torch.randn(50, 7) * 3
    rows[0], rows[1] = 1e6, -1e6
    found = compiled(tmp_path, compiler)(rows.numpy())
    np.testing.assert_allclose(found, baked(rows).numpy(), rtol=1e-5, atol=1e-5)


def test_all_kinds_of_baked_functions(tmp_path: Path) -> None:
    torch.manual_seed(0)
    own = [
        kafnets.zoo.APL(6), kafnets.zoo.SReLU(6), kafnets.zoo.PAF(6, degree=9), kafnets.zoo.XIELU(6),
        kafnets.KAF(6, base="relu", dictionary=[-1.0, 0.0, 1.0, 2.0], tails="linear"), kafnets.zoo.PReLU(6),
        kafnets.KAF(6, base="mish"), kafnets.zoo.SAF(6), kafnets.KAF2D(6), kafnets.KAF2D(6, groups=1),
    ]  # fmt: skip
    for number, each in enumerate(own):
        with torch.no_grad():
            for parameter in each.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        folder = tmp_path / str(number)
        folder.mkdir()
        baked = kafnets.bake(nn.Sequential(nn.Linear(6, 6), each))
        kafnets.export_c(baked, folder / "model.c")
        rows = torch.randn(30, 6) * 3
        expected = baked(rows).numpy()
        np.testing.assert_allclose(compiled(folder, "gcc")(rows.numpy()), expected, rtol=1e-5, atol=1e-5)


def images() -> nn.Sequential:
    """Every layer of images, with options at which a mistake would show, from (2, 11, 9)."""
    torch.manual_seed(0)
    blocks = [
        nn.Conv2d(2, 6, (3, 5), stride=(2, 1), padding=(2, 1), dilation=(1, 2)), nn.BatchNorm2d(6),
        kafnets.KAF(6), nn.MaxPool2d(3, stride=(1, 2), padding=1), nn.Dropout2d(),
        nn.Conv2d(6, 8, (2, 4), padding="same", groups=2, bias=False), kafnets.KAF(8, groups=2),
        nn.AvgPool2d((2, 1), padding=(1, 0)), kafnets.KAF2D(8), nn.Conv2d(4, 4, 1, padding="valid"),
        kafnets.KAF(), nn.BatchNorm2d(4, affine=False), nn.AdaptiveAvgPool2d((2, None)), nn.Flatten(),
    ]  # fmt: skip
    width = nn.Sequential(*blocks).eval()(torch.zeros(1, 2, 11, 9)).shape[1]
    model = nn.Sequential(*blocks, nn.Linear(width, 5), nn.BatchNorm1d(5))
    with torch.no_grad():
        model.train()(torch.randn(20, 2, 11, 9))  # statistics of their own
    return model.eval()


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")  # torch copies
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_images(compiler: str, tmp_path: Path) -> None:
    baked = kafnets.bake(images())
    kafnets.export_c(baked, tmp_path / "model.c", input_shape=(2, 11, 9))
    rows = torch.randn(10, 2, 11, 9)
    found = compiled(tmp_path, compiler)(rows.numpy())
    np.testing.assert_allclose(found, baked(rows).numpy(), rtol=1e-5, atol=1e-5)


def test_the_papers_convolutional_network(tmp_path: Path) -> None:
    baked = kafnets.bake(kafnets.cnn(1, 8, 2, 10, "kaf", filters=6))
    kafnets.export_c(baked, tmp_path / "model.c", input_shape=(1, 8, 8))
    rows = torch.randn(5, 1, 8, 8)
    found = compiled(tmp_path, "gcc")(rows.numpy())
    np.testing.assert_allclose(found, baked(rows).numpy(), rtol=1e-5, atol=1e-5)


def test_sizes_are_told_and_nothing_is_allocated(tmp_path: Path) -> None:
    baked = kafnets.bake(kafnets.mlp(4, (8,), 2, "kaf"))
    kafnets.export_c(baked, tmp_path / "model.c", name="small")
    header, body = ((tmp_path / f"model.{end}").read_text(encoding="utf-8") for end in "hc")
    stored = sum(each.numel() * each.element_size() for each in baked.state_dict().values())
    assert f"SMALL_CONSTANT_BYTES {stored} " in header
    assert "alloc" not in body
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    subprocess.run(["gcc", *FLAGS, "-c", "model.c"], cwd=tmp_path, check=True)
    symbols = subprocess.run(
        ["nm", "-u", "model.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert {each for each in symbols.stdout.split() if len(each) > 1} <= {
        "floorf",
        "memcpy",
        "__stack_chk_fail",
    }


def test_what_is_no_number_stays_none(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    baked = kafnets.bake(nn.Sequential(nn.Linear(2, 2), kafnets.KAF(2)))
    kafnets.export_c(baked, tmp_path / "model.c")
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", "model.c", "-o", "model.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    x, y = np.array([np.nan, 1.0], np.float32), np.zeros(2, np.float32)
    library.network(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p))
    assert np.isnan(y).all()


def test_mistakes_leave_no_file(tmp_path: Path) -> None:
    for model, message in (
        (kafnets.mlp(3, (4,), 1, "kaf"), r"1 \(KAF\) cannot be written as C: bake"),
        (nn.Sequential(nn.Conv2d(1, 1, 1)), r"input_shape must be given for 0 \(Conv2d\)"),
        (nn.Sequential(nn.ReLU()), "input_shape must be given"),
        (nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 1)), "takes 5 values, but 4 come"),
        (nn.Sequential(nn.Linear(1, 1), nn.GELU("tanh")), "GELU"),
    ):
        with pytest.raises(ValueError, match=message):
            kafnets.export_c(model, tmp_path / "model.c")
    image = (1, 4, 4)
    for layer, message in (
        (nn.Conv2d(2, 1, 1), "takes images of 2 channels"),
        (nn.Conv2d(1, 1, 3, padding_mode="reflect"), "padded by zeros"),
        (nn.Linear(16, 1), r"put nn.Flatten\(\) before it"),
        (nn.Flatten(2), "must flatten all axes"),
        (nn.MaxPool2d(2, ceil_mode=True), "options"),
        (nn.AdaptiveAvgPool2d(3), "evenly"),
        (nn.BatchNorm2d(1, track_running_stats=False), "no statistics"),
        (nn.BatchNorm2d(3), "takes 3 channels"),
        (kafnets.bake(kafnets.KAF(4, dim=-1)), r"0 takes 4 channels"),
    ):
        with pytest.raises(ValueError, match=message):
            kafnets.export_c(nn.Sequential(layer), tmp_path / "model.c", input_shape=image)
    with pytest.raises(ValueError, match="dim=1"):
        kafnets.export_c(kafnets.bake(kafnets.KAF(4, dim=-1)), tmp_path / "model.c", input_shape=(4, 4, 4))
    with pytest.raises(ValueError, match="input_shape must be"):
        kafnets.export_c(nn.Linear(1, 1), tmp_path / "model.c", input_shape=(1, 2))
    with pytest.raises(ValueError, match=r"end in \.c"):
        kafnets.export_c(nn.Linear(1, 1), tmp_path / "model.cpp")
    with pytest.raises(ValueError, match="name"):
        kafnets.export_c(nn.Linear(1, 1), tmp_path / "model.c", name="a b")
    assert list(tmp_path.iterdir()) == []
