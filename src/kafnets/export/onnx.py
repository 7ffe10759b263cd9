"""ONNX files with standard operators that reproduce a model's outputs."""

import copy
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kafnets import files
from kafnets.packages import needed_by, require

LARGEST_DIFFERENCE = 1e-5
"""From torch, relative to values beyond 1."""


def export_onnx(
    model: nn.Module, path: str | Path, example_input: Tensor, *, output_name: str = "output"
) -> Path:
    """Write a model as an ONNX file, for any batch size.

    The file contains only operators of the ONNX standard, so that it runs wherever ONNX does. Before it is
    written, it is run with onnxruntime on ``example_input`` and on a batch of another size, and the results
    must agree with torch's to 1e-5. Models baked with ``degree=3`` run fastest::

        kafnets.export_onnx(kafnets.bake(model, degree=3), "model.onnx", torch.randn(1, 48))

    Args:
        model: any network; it is exported in evaluation mode and not changed.
        path: of the file, which is written atomically.
        example_input: an input of the model. Its first axis is the batch.
        output_name: the name of the output; the input is called "input".
    """
    if not isinstance(example_input, Tensor) or example_input.dim() == 0:
        raise TypeError(
            f"example_input must be a tensor with a batch axis, got {type(example_input).__name__}"
        )
    module = copy.deepcopy(model).eval()
    content = program_of(module, example_input, output_name)
    _check(content, module, example_input)
    files.write(Path(path), content)
    return Path(path)


def program_of(module: nn.Module, example: Tensor, output_name: str) -> bytes:
    """The file's content. At least two rows: a batch of one is taken for a constant."""
    require("ONNX export", "onnx", "onnxscript", "onnxruntime")  # torch's exporter is written in onnxscript
    import onnx

    rows = torch.cat([example, example])[: max(2, len(example))]
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it tells of packages that nobody needs here
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                module,
                (rows,),
                dynamo=True,
                input_names=["input"],
                output_names=[output_name],
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    assert program is not None
    proto = program.model_proto
    strange = {node.op_type for node in proto.graph.node if node.domain not in ("", "ai.onnx")}
    if strange or proto.functions:
        raise ValueError(f"the model needs operators that are not part of ONNX: {', '.join(sorted(strange))}")
    onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


def run_onnx(content: str | Path | bytes, inputs: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The first output of a file, by onnxruntime."""
    with needed_by("running ONNX files"):
        import onnxruntime
    given = content if isinstance(content, bytes) else str(content)
    session = onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, inputs)[0])


def _check(content: bytes, module: nn.Module, example: Tensor) -> None:
    for rows in (example, torch.cat([example] * 3)):
        with torch.no_grad():
            exact = module(rows).numpy()
        found = run_onnx(content, {"input": rows.numpy()})
        off = np.abs(found - exact) / np.maximum(np.abs(exact), 1)
        if found.shape != exact.shape or not (off <= LARGEST_DIFFERENCE).all():
            raise ValueError(
                f"the file does not reproduce the model's outputs: they differ by up to {off.max():.2g} for "
                f"{len(rows)} rows, so it was not written"
            )
