"""A trained network together with all that new rows must go through: saved, loaded, asked."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kafnets.data.encoding import Encoding
from kafnets.data.folder import written_at_once
from kafnets.data.reading import read_frame
from kafnets.data.scaling import Scaling
from kafnets.data.scaling import described as scaling_described
from kafnets.data.splits import Splits, Task
from kafnets.networks import mlp

DESCRIPTION, WEIGHTS = "predictor.json", "predictor.pt"
ROWS = 4096


@dataclass(frozen=True)
class Architecture:
    """What ``kafnets.mlp`` needs to build the network again."""

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    activation: str
    options: dict[str, Any]
    dropout: tuple[float, ...] | float

    def build(self, generator: torch.Generator | None = None) -> nn.Sequential:
        """With first weights."""
        return mlp(
            self.inputs,
            self.hidden,
            self.outputs,
            self.activation,
            dropout=self.dropout,
            generator=generator,
            **self.options,
        )


@dataclass(frozen=True)
class Predictor:
    """Answers for rows as they come: a table with the columns it was trained on, or an array of them::

        from kafnets.train import Predictor

        predictor = Predictor.load("kafnets-runs/compare/digits-1f0c2a/best")
        predictor.predict(rows)

    Attributes:
        model: the network.
        architecture: how it is built.
        task: "binary", "multiclass" or "regression".
        classes: their names; none for regression.
        scaling: of features.
        target_scale: mean and deviation of the target of regression.
        encoding: of a table's columns; None if it was trained on an array.
    """

    model: nn.Module
    architecture: Architecture
    task: Task
    classes: tuple[str, ...]
    scaling: Scaling
    target_scale: tuple[float, float] = (0.0, 1.0)
    encoding: Encoding | None = None

    @classmethod
    def of(cls, model: nn.Module, architecture: Architecture, splits: Splits) -> "Predictor":
        """From a trained network and the data that it was trained on."""
        if splits.scaling is None:
            raise ValueError(f"{splits.name} is no table of features: no predictor can be made for it")
        return cls(
            model.eval(),
            architecture,
            splits.task,
            splits.classes,
            splits.scaling,
            splits.target_scale,
            splits.encoding,
        )

    def predict(self, rows: Any) -> NDArray[Any]:
        """The likeliest class of each row, by name, or the number that is expected.

        Args:
            rows: a pandas DataFrame, the path of a .csv or .parquet file, or an array ``(rows, features)``.
        """
        if self.task == "regression":
            mean, deviation = self.target_scale
            return self._outputs(rows)[:, 0].double().numpy() * deviation + mean
        return np.array(self.classes)[self.predict_proba(rows).argmax(1)]

    def predict_proba(self, rows: Any) -> NDArray[np.float32]:
        """How likely each class is, ``(rows, classes)``."""
        if self.task == "regression":
            raise ValueError("regression has no classes: ask for predict")
        outputs = self._outputs(rows)
        if self.task == "binary":
            outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
        return outputs.softmax(1).numpy()

    def _outputs(self, rows: Any) -> torch.Tensor:
        features = torch.from_numpy(self.scaling.apply(self._numbers(rows)))
        with torch.no_grad():
            return torch.cat([self.model(part) for part in features.split(ROWS)])

    def _numbers(self, rows: Any) -> NDArray[np.float64]:
        if self.encoding is not None:
            frame = read_frame(Path(rows)) if isinstance(rows, str | Path) else rows
            if not hasattr(frame, "columns"):
                raise TypeError(
                    f"rows must be a DataFrame or the path of a table, got {type(rows).__name__}: the "
                    f"columns {', '.join(column.name for column in self.encoding.columns)} are looked up by "
                    "name"
                )
            called = str(rows) if isinstance(rows, str | Path) else "the table"
            return self.encoding.apply(frame.rename(columns=str), called)
        array = np.asarray(rows, dtype=np.float64)
        wanted = len(self.scaling.median)
        if array.ndim != 2 or array.shape[1] != wanted:
            raise ValueError(f"rows must have the shape (rows, {wanted}), got {array.shape}")
        return array

    def save(self, folder: str | Path) -> None:
        """Two files: JSON, and tensors. Neither can hold code."""
        content = {
            "architecture": vars(self.architecture),
            "task": self.task,
            "classes": self.classes,
            "scaling": self.scaling.describe(),
            "target_scale": self.target_scale,
            "encoding": None if self.encoding is None else self.encoding.describe(),
        }
        try:
            text = json.dumps(content, indent=2, ensure_ascii=False)
        except TypeError as error:
            raise ValueError(f"options must be numbers and text to be saved ({error})") from error
        with written_at_once(Path(folder) / WEIGHTS) as temporary:
            torch.save(self.model.state_dict(), temporary)
        with written_at_once(Path(folder) / DESCRIPTION) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "Predictor":
        """What :meth:`save` has written. Safe with files from anybody: no code is unpickled."""
        folder = Path(folder)
        try:
            content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{folder} has no {DESCRIPTION}: give a folder that was saved, such as .../best"
            ) from None
        stored = content["architecture"]
        dropout = stored["dropout"]
        architecture = Architecture(
            **stored
            | {
                "hidden": tuple(stored["hidden"]),
                "dropout": tuple(dropout) if isinstance(dropout, list) else dropout,
            }
        )
        model = architecture.build(torch.Generator())
        model.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True, map_location="cpu"))
        encoding = content["encoding"]
        return cls(
            model.eval(),
            architecture,
            content["task"],
            tuple(content["classes"]),
            scaling_described(content["scaling"]),
            tuple(content["target_scale"]),
            None if encoding is None else Encoding.described(encoding),
        )
