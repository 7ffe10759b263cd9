"""A trained network together with its preprocessing: saved, loaded, asked."""

import copy
import io
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kafnets import files
from kafnets.data.encoding import Column, Encoding
from kafnets.data.numbers import number_form, numbers_of, stripped
from kafnets.data.reading import frame_of
from kafnets.data.scaling import Scaling
from kafnets.data.scaling import described as scaling_described
from kafnets.data.splits import Splits, Task
from kafnets.networks import Activation, mlp
from kafnets.train import metrics
from kafnets.train.tensors import load_tensors

DESCRIPTION, WEIGHTS = "predictor.json", "predictor.pt"
ROWS = 4096


@dataclass(frozen=True)
class Architecture:
    """What ``kafnets.mlp`` needs to build the network again."""

    inputs: int
    hidden: Sequence[int]
    outputs: int
    activation: Activation
    options: Mapping[str, Any]
    dropout: tuple[float, ...] | float

    def build(self, generator: torch.Generator | None = None) -> nn.Sequential:
        """With initial weights."""
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
    """A trained network with its preprocessing, for new rows as they come::

        import kafnets

        predictor = kafnets.Predictor.load("kafnets-runs/compare/patients-1f0c2a/best")
        predictor.predict("new.csv")
        predictor.predict({"age": [61, 54], "sex": ["f", "m"]})

    Rows may be the path of a .csv or .parquet file, a DataFrame of pandas or polars, or a dictionary of
    columns. Columns go by their names, in any order, and others are left alone. If all features are numbers,
    an array ``(rows, features)`` will do.

    Attributes:
        model: the network; :meth:`transform` makes its inputs.
        architecture: how it is built.
        task: "binary", "multiclass" or "regression".
        classes: what they are called in the table, in order; none for regression.
        scaling: of features.
        target_scale: mean and deviation of the target of regression.
        encoding: of a table's columns; None if it was trained on an array.
        target: the name of the table's column that is predicted.
        target_range: the smallest and the largest number that regression predicts; None: no limits.
    """

    model: nn.Module
    architecture: Architecture
    task: Task
    classes: tuple[Any, ...]
    scaling: Scaling
    target_scale: tuple[float, float] = (0.0, 1.0)
    encoding: Encoding | None = None
    target: str | None = None
    target_range: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        model: nn.Module,
        architecture: Architecture,
        splits: Splits,
        target: str | None = None,
        *,
        clamp: bool = False,
    ) -> "Predictor":
        """From a trained network and the data that it was trained on.

        Args:
            model: the network.
            architecture: how it is built.
            splits: the data.
            target: the name of the table's column that is predicted.
            clamp: as ``clamp_outputs`` of the settings that it was trained with.
        """
        if splits.scaling is None:
            raise ValueError(f"{splits.name} is no table of features: no predictor can be made for it")
        prepared = splits.scaling, splits.target_scale, splits.encoding
        ends = None
        if clamp and splits.task == "regression":
            mean, deviation = splits.target_scale
            numbers = splits.train.target
            ends = float(numbers.min()) * deviation + mean, float(numbers.max()) * deviation + mean
        return cls(model.eval(), architecture, splits.task, splits.class_values, *prepared, target, ends)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns that rows must have; "x0", "x1", ... if it was trained on an array."""
        if self.encoding is None:
            return tuple(f"x{number}" for number in range(len(self.scaling.median)))
        return tuple(column.name for column in self.encoding.columns)

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most likely class of each row, or the expected number."""
        if self.task == "regression":
            return self._outputs(rows).numpy()[:, 0]
        return np.array(self.classes)[self.predict_proba(rows).argmax(1)]

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """How likely each class is, ``(rows, classes)``, in the order of ``classes``."""
        if self.task == "regression":
            raise ValueError("regression has no classes: ask for predict")
        outputs = self._outputs(rows)
        if self.task == "binary":
            outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
        return outputs.softmax(1).numpy()

    def score(self, rows: Any, target: Any = None) -> float:
        """Accuracy, or R² for regression, as in scikit-learn; see :meth:`scores`."""
        return self.scores(rows, target)["r2" if self.task == "regression" else "accuracy"]

    def scores(self, rows: Any, target: Any = None) -> dict[str, float]:
        """All scores that are usual for the task, by name.

        Args:
            rows: as for :meth:`predict`.
            target: the true values; by default, the target column of ``rows``.
        """
        if target is None:
            rows = frame_of(rows)
            if self.target not in rows.columns:
                raise ValueError(f"rows have no column {self.target!r}: give target=, the true values")
            target = rows[self.target]
        outputs, given = self._outputs(rows), np.asarray(target)
        if given.shape != (len(outputs),):
            raise ValueError(
                f"target must have one value per row, {len(outputs)}, got the shape {given.shape}"
            )
        return metrics.scores(self.task, outputs, self._true(given))

    def _true(self, given: NDArray[Any]) -> torch.Tensor:
        """Class numbers, or numbers."""
        if self.task == "regression":
            if given.dtype.kind not in "fiub":
                import pandas as pd

                column = pd.Series(given, name=self.target or "target")
                given = numbers_of(column, "target", number_form(column) or "number")
            values = given.astype(np.float64)
            if gaps := np.flatnonzero(np.isnan(values)).tolist():
                raise ValueError(f"target has no value in row {gaps[0] + 1}: leave such rows out")
            return torch.from_numpy(values)
        numbers: dict[Any, int] = {label: number for number, label in enumerate(self.classes)}
        labels = list(map(stripped, given.tolist()))
        if unknown := [each for each in labels if each not in numbers]:
            raise ValueError(f"target holds {unknown[0]!r}, which is not among {list(self.classes)}")
        return torch.tensor([numbers[each] for each in labels])

    def transform(self, rows: Any) -> torch.Tensor:
        """Rows as the network sees them: encoded and scaled. New categories count as none, with a warning."""
        return torch.from_numpy(self.scaling.apply(self._numbers(rows)))

    def _outputs(self, rows: Any) -> torch.Tensor:
        """In float64, so that a row's answer does not depend on which others come with it."""
        model = copy.deepcopy(self.model).double().eval()
        with torch.no_grad():
            outputs = torch.cat([model(part) for part in self.transform(rows).double().split(ROWS)])
        mean, deviation = self.target_scale
        outputs = outputs * deviation + mean
        return outputs if self.target_range is None else outputs.clamp(*self.target_range)

    def _numbers(self, rows: Any) -> NDArray[np.float64]:
        encoding = self.encoding
        named = isinstance(rows, str | Path | Mapping) or hasattr(rows, "columns")
        if encoding is None and named:
            rows = frame_of(rows)
            if {*rows.columns} & {*self.feature_names}:  # else by their places
                encoding = Encoding(tuple(map(Column, self.feature_names)))
        if encoding is None or not (named or any(each.categories is not None for each in encoding.columns)):
            array = np.asarray(rows, dtype=np.float64)
            wanted = len(self.scaling.median)
            if array.ndim != 2 or array.shape[1] != wanted:
                raise ValueError(f"rows must have the shape (rows, {wanted}), got {array.shape}")
            return array
        if not named:
            raise TypeError(
                f"rows must be a DataFrame, a dictionary or the path of a table, got {type(rows).__name__}: "
                f"the columns {', '.join(self.feature_names)} are looked up by name"
            )
        frame = frame_of(rows)
        numbers = encoding.apply(frame, str(rows) if isinstance(rows, str | Path) else "the table")
        for name, texts in encoding.unseen(frame).items():
            more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
            told = f"{', '.join(map(repr, texts[:3]))}{more}"
            warnings.warn(f"column {name!r} has {told}, not seen in training: counted as none", stacklevel=4)
        return numbers

    def save(self, folder: str | Path) -> None:
        """Two files: JSON, and tensors. Neither can hold code."""
        content = {
            "architecture": vars(self.architecture),
            "task": self.task,
            "classes": self.classes,
            "scaling": self.scaling.describe(),
            "target_scale": self.target_scale,
            "target_range": self.target_range,
            "encoding": None if self.encoding is None else self.encoding.describe(),
            "target": self.target,
        }
        try:
            text = json.dumps(content, indent=2, ensure_ascii=False)
        except TypeError as error:
            raise ValueError(
                f"to be saved, an activation must be a registered name, and its options numbers and text "
                f"({error})"
            ) from error
        stream = io.BytesIO()  # given a path, torch would store the temporary file's name
        torch.save(self.model.state_dict(), stream)
        files.write(Path(folder) / WEIGHTS, stream.getvalue())
        files.write(Path(folder) / DESCRIPTION, text + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> "Predictor":
        """What :meth:`save` has written. Safe with files from anybody: no code is unpickled."""
        folder = Path(folder)
        try:
            content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"{folder} has no {DESCRIPTION}: give a folder that was saved, such as .../best"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{folder / DESCRIPTION} is damaged, or something else ({error})") from error
        weights = load_tensors(folder / WEIGHTS, map_location="cpu")
        try:
            return cls._described(content, weights)
        except (KeyError, IndexError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{folder}: {DESCRIPTION} and {WEIGHTS} do not tell all of a network ({error!r})"
            ) from error

    @classmethod
    def _described(cls, content: dict[str, Any], weights: dict[str, Any]) -> "Predictor":
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
        model.load_state_dict(weights)
        encoding, ends = content["encoding"], content.get("target_range")
        return cls(
            model.eval(),
            architecture,
            content["task"],
            tuple(content["classes"]),
            scaling_described(content["scaling"]),
            tuple(content["target_scale"]),
            None if encoding is None else Encoding.described(encoding),
            content.get("target"),
            None if ends is None else (float(ends[0]), float(ends[1])),
        )
