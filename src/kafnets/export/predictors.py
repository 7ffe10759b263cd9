"""Predictors as files for other programs, preprocessing included."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kafnets import files
from kafnets.export.c import export_c
from kafnets.export.onnx import program_of, run_onnx
from kafnets.export.predictor_module import columns_of, prepared
from kafnets.nn.averaged import Averaged
from kafnets.nn.baked import bake
from kafnets.nn.shared_members import SharedMembers

SUFFIXES = (".onnx", ".c", ".pt2")
MISSING, NAN = "", "nan"
"""The category of missing text, and what onnxruntime makes of a NaN among texts."""


def export_predictor(predictor: Any, path: str | Path, *, baked: bool = True) -> Path:
    """See :meth:`kafnets.Predictor.export`."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path must end in {', '.join(SUFFIXES)}, got {path.name!r}")
    columns = columns_of(predictor)
    texts = [each["name"] for each in columns if each["categories"] is not None]
    if texts and path.suffix != ".onnx":
        raise ValueError(
            f"the column {texts[0]!r} holds text, which only .onnx files can take: export to ONNX"
        )
    if path.suffix == ".c" and isinstance(predictor.model, Averaged | SharedMembers):
        raise ValueError(
            "a .c file holds one network, but predictions of several are averaged: fit with n_members=1, or "
            "export to .onnx"
        )
    degree = {".onnx": 3, ".c": 7, ".pt2": None}[path.suffix]
    model = bake(predictor.model, degree=degree) if baked else predictor.model  # type: ignore[arg-type]
    module = prepared(predictor, model)
    if path.suffix == ".c":
        return export_c(module, path)
    example = torch.from_numpy(np.tile(predictor.scaling.median, (2, 1)))
    if path.suffix == ".pt2":
        with torch.no_grad():
            batch = ({0: torch.export.Dim.DYNAMIC},)
            program = torch.export.export(module, (example,), dynamic_shapes=batch)
        with files.written_at_once(path) as temporary:
            torch.export.save(program, temporary)
        return path
    name = "predictions" if predictor.task == "regression" else "probabilities"
    content = _with_columns(program_of(module, example, name), columns, predictor)
    _check(content, predictor, module, columns)
    files.write(path, content)
    return path


def _with_columns(content: bytes, columns: Sequence[dict[str, Any]], predictor: Any) -> bytes:
    """With text columns as an input of their own, if there are any, and names in the file's metadata."""
    import onnx
    from onnx import TensorProto, helper

    proto = onnx.load_from_string(content)
    told = {"columns": columns, "classes": list(predictor.classes), "target": predictor.target}
    helper.set_model_props(proto, {"kafnets": json.dumps(told, ensure_ascii=False, default=str)})
    if any(each["categories"] is not None for each in columns):
        graph, encoded, places = proto.graph, [], {"numbers": 0, "texts": 0}
        nodes, whole = [], graph.input[0].name
        for number, column in enumerate(columns):
            kind = "numbers" if column["categories"] is None else "texts"
            at, own = f"column_{number}_at", f"column_{number}"
            graph.initializer.append(helper.make_tensor(at, TensorProto.INT64, [1], [places[kind]]))
            nodes.append(helper.make_node("Gather", [kind, at], [own], axis=1))
            places[kind] += 1
            if kind == "texts":
                known = [each.encode() for each in column["categories"]]
                names = helper.make_tensor(f"{own}_categories", TensorProto.STRING, [1, len(known)], known)
                graph.initializer.append(names)
                nodes.append(helper.make_node("Equal", [own, names.name], [f"{own}_equal"]))
                equal = f"{own}_equal"
                if MISSING in column["categories"] and NAN not in column["categories"]:
                    known = [NAN.encode() if each == MISSING.encode() else each for each in known]
                    names = helper.make_tensor(f"{own}_or_nan", TensorProto.STRING, [1, len(known)], known)
                    graph.initializer.append(names)
                    nodes.append(helper.make_node("Equal", [own, names.name], [f"{own}_is_nan"]))
                    equal = f"{own}_known"
                    nodes.append(helper.make_node("Or", [f"{own}_equal", f"{own}_is_nan"], [equal]))
                nodes.append(helper.make_node("Cast", [equal], [f"{own}_one_hot"], to=TensorProto.DOUBLE))
                own = f"{own}_one_hot"
            encoded.append(own)
        nodes.append(helper.make_node("Concat", encoded, [whole], axis=1))
        rest = list(graph.node)
        del graph.node[:], graph.input[:]
        graph.node.extend([*nodes, *rest])
        for kind, element in (("numbers", TensorProto.DOUBLE), ("texts", TensorProto.STRING)):
            if places[kind]:
                graph.input.append(helper.make_tensor_value_info(kind, element, ["batch", places[kind]]))
        onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


def inputs_of(predictor: Any, rows: Any) -> dict[str, Any]:
    """What an exported ONNX file is fed for rows of a DataFrame, or of an array if all are numbers."""
    columns = columns_of(predictor)
    if all(each["categories"] is None for each in columns):
        names = [each["name"] for each in columns]
        return {"input": np.asarray(rows[names] if hasattr(rows, "columns") else rows, np.float64)}
    found: dict[str, Any] = {}
    for kind, text in (("numbers", False), ("texts", True)):
        names = [each["name"] for each in columns if (each["categories"] is not None) == text]
        if names:
            own = rows[names]
            found[kind] = (
                own.fillna("").astype(str).to_numpy(object, copy=True) if text else own.to_numpy(np.float64)
            )
    return found


def _check(
    content: bytes, predictor: Any, module: torch.nn.Module, columns: Sequence[dict[str, Any]]
) -> None:
    """On rows around the medians and the first category: the file must give what the module gives."""
    generator = np.random.default_rng(0)
    median = predictor.scaling.median
    encoded = median + generator.normal(size=(5, len(median))) * np.maximum(np.abs(median), 1)
    numbers, texts, at = [], [], 0
    for column in columns:
        size = 1 if column["categories"] is None else len(column["categories"])
        if column["categories"] is None:
            numbers.append(encoded[:, at])
        else:
            chosen = generator.integers(size, size=5)
            encoded[:, at : at + size] = np.eye(size)[chosen]
            texts.append([column["categories"][each] for each in chosen])
        at += size
    fed: dict[str, Any] = {"input": encoded}
    if texts:
        fed = {"texts": np.array(texts, dtype=object).T}
        if numbers:
            fed["numbers"] = np.array(numbers).T
    with torch.no_grad():
        exact = module(torch.from_numpy(encoded)).numpy()
    off = np.abs(run_onnx(content, fed) - exact) / np.maximum(np.abs(exact), 1)
    if not (off <= 1e-5).all():
        raise ValueError(
            f"the file gives different predictions, by up to {off.max():.2g}, so it was not written"
        )
