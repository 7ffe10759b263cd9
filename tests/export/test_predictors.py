"""Predictors as files: raw rows give the same answers, preprocessing included."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import kafnets
from kafnets.cli import app
from kafnets.data.encoding import Column, Encoding
from kafnets.data.scaling import RangeScaling, RobustScaling
from kafnets.export.onnx import run_onnx
from kafnets.export.predictor_module import ScaledInputs
from kafnets.export.predictors import inputs_of
from kafnets.train import Predictor
from kafnets.train.architecture import Architecture
from tests.export.test_c import compiled

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

COLUMNS = (Column("age"), Column("sex", ("f", "m", "")), Column("height"))


def numbers() -> np.ndarray:
    generator = np.random.default_rng(0)
    values = generator.normal(1.7e9, 1000.0, (60, 3))  # such as seconds since 1970
    values[:, 1] = generator.exponential(size=60)
    values[:, 2] = 5.0
    values[::7, 0] = np.nan
    return values


@pytest.mark.parametrize("kind", [RangeScaling, RobustScaling])
def test_scaling(kind: Any) -> None:
    scaling, values = kind.of(numbers()), np.concatenate([numbers(), [[np.nan, 1e300, -1e20]]])
    found = ScaledInputs(scaling)(torch.from_numpy(values))
    np.testing.assert_allclose(found, scaling.apply(values), rtol=1e-6, atol=1e-6)


def predictor(task: Any, outputs: int, *, text: bool, members: int = 1) -> Predictor:
    torch.manual_seed(1)
    frame = pd.DataFrame({"age": numbers()[:, 0], "sex": "f", "height": numbers()[:, 1]})
    encoding = Encoding(COLUMNS) if text else None
    encoded = encoding.apply(frame, "it") if encoding else numbers()
    width = encoded.shape[1]
    embeddings = ("kaf", None)[:members]
    link: Any = {"binary": "logistic", "multiclass": "softmax"}.get(task, "identity")
    design = Architecture(width, (8,), outputs, "kaf", {}, 0.0, embeddings, (0, width - 1), link)
    classes = {"binary": ("no", "yes"), "multiclass": ("a", "b", "c")}.get(task, ())
    scale = (100.0, 20.0) if task == "regression" else (0.0, 1.0)
    return Predictor(
        design.build().eval(),
        design,
        task,
        classes,
        RobustScaling.of(encoded),
        scale,
        encoding,
        temperature=1.3,
    )


def test_text_gaps_and_averages(tmp_path: Path) -> None:
    own = predictor("multiclass", 3, text=True, members=2)
    path = own.export(tmp_path / "model.onnx")
    rows = pd.DataFrame(
        {"sex": ["f", "m", None, "f"], "height": [0.1, 2.0, 9.0, None], "age": [1.7e9] * 3 + [None]}
    )
    found = run_onnx(path, inputs_of(own, rows))
    np.testing.assert_allclose(found, own.predict_proba(rows), rtol=1e-5, atol=1e-5)
    as_it_is = inputs_of(own, rows) | {"texts": rows[["sex"]].to_numpy(object, na_value=np.nan)}
    np.testing.assert_array_equal(run_onnx(path, as_it_is), found)
    unknown = inputs_of(own, rows)
    unknown["texts"][0] = "x"
    with pytest.warns(UserWarning, match="not seen"):
        exact = own.predict_proba(rows.assign(sex=["x", "m", None, "f"]))
    np.testing.assert_allclose(run_onnx(path, unknown), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("task", "outputs"), [("binary", 1), ("regression", 1)])
def test_every_format_from_the_command_line(task: Any, outputs: int, tmp_path: Path) -> None:
    own = predictor(task, outputs, text=False)
    own.save(tmp_path / "best")
    rows = numbers()
    rows[:, 0] = rows[:, 0].astype(np.float32)
    exact = own.predict(rows)[:, None] if task == "regression" else own.predict_proba(rows)
    formats = {"onnx": "model.onnx", "torch": "model.pt2"} if task == "binary" else {"c": "model.c"}
    for form, name in formats.items():
        arguments = ["export", str(tmp_path / "best"), "--to", form, "--output", str(tmp_path / name)]
        result = CliRunner().invoke(app, arguments)
        if form == "c":  # the embedding is no dense layer
            assert result.exit_code == 2
            assert "KAFEmbedding" in result.output
            continue
        assert result.exit_code == 0, result.output
        assert "bytes" in result.output
    if task == "binary":
        found = run_onnx(tmp_path / "model.onnx", {"input": rows})
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
        program = torch.export.load(tmp_path / "model.pt2").module()
        np.testing.assert_allclose(program(torch.from_numpy(rows)), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("task", "outputs"), [("binary", 1), ("multiclass", 3), ("multilabel", 2), ("regression", 2)]
)
def test_c_takes_raw_rows(task: Any, outputs: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    rows = np.random.default_rng(0).normal(3.0, 2.0, (40, 5)).astype(np.float32)
    design = Architecture(5, (8,), outputs, "kaf", {}, 0.0)
    scale: Any = ((1.0, 2.0), (3.0, 4.0)) if task == "regression" else (0.0, 1.0)
    scaling = RobustScaling.of(rows) if task == "binary" else RangeScaling.of(rows)
    classes = tuple("abc"[: max(2, outputs)])
    own = Predictor(design.build().eval(), design, task, classes, scaling, scale, temperature=0.7)
    own.export(tmp_path / "model.c")
    exact = own.predict(rows) if task == "regression" else own.predict_proba(rows)
    np.testing.assert_allclose(compiled(tmp_path, "gcc")(rows), exact, rtol=1e-5, atol=1e-5)


def test_mistakes(tmp_path: Path) -> None:
    own = predictor("multiclass", 3, text=True)
    with pytest.raises(ValueError, match=r"'sex' holds text, which only \.onnx"):
        own.export(tmp_path / "model.c")
    with pytest.raises(ValueError, match=r"must end in \.onnx"):
        own.export(tmp_path / "model.txt")
    dated = Predictor(
        **vars(own) | {"encoding": Encoding((Column("when", form="ISO8601", parts=("year",)),))}
    )
    with pytest.raises(ValueError, match="'when' holds dates"):
        dated.export(tmp_path / "model.onnx")
    folder = tmp_path / "best"
    own.save(folder)
    result = CliRunner().invoke(app, ["export", str(folder), "--to", "onnx", "--output", "model.c"])
    assert result.exit_code == 2
    assert "must end in .onnx" in result.output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["best"]
    assert isinstance(kafnets.bake(own.model), torch.nn.Module)
