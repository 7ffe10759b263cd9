"""A trained network with its preprocessing."""

import copy
import io
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kafnets import files
from kafnets.data.encoding import Encoding
from kafnets.data.numbers import number_form, numbers_of, stripped
from kafnets.data.reading import frame_of
from kafnets.data.scaling import Scaling
from kafnets.data.scaling import described as scaling_described
from kafnets.data.splits import Splits, Task
from kafnets.train import metrics
from kafnets.train.architecture import Architecture
from kafnets.train.inputs import numbers_of_rows
from kafnets.train.losses import SQUARED_ERROR, Loss
from kafnets.train.temperature import temperature_of
from kafnets.train.tensors import load_tensors

DESCRIPTION, WEIGHTS = "predictor.json", "predictor.pt"
ROWS = 4096


@dataclass(frozen=True)
class Predictor:
    """A trained network with its preprocessing, for predictions on new rows::

        import kafnets

        predictor = kafnets.Predictor.load("kafnets-runs/compare/patients-1f0c2a/best")
        predictor.predict("new.csv")
        predictor.predict({"age": [61, 54], "sex": ["f", "m"]})

    Rows can be the path of a .csv or .parquet file, a DataFrame of pandas or polars, or a dictionary of
    columns. Columns are found by name, in any order, and others are ignored. If all features are numbers, an
    array ``(rows, features)`` works as well.

    Attributes:
        model: the network; :meth:`transform` computes its inputs.
        architecture: how it is built.
        task: "binary", "multiclass", "multilabel" or "regression".
        classes: the classes or labels as in the table, in order; empty for regression.
        scaling: of features.
        target_scale: mean and standard deviation of the regression target, or of each of them.
        encoding: of a table's columns; None if it was trained on an array.
        target: the name of the predicted column of the table.
        target_range: the minimum and maximum of regression predictions; None: no limits.
        loss: of regression, which determines what the numbers mean.
        temperature: outputs are divided by it before they are converted to probabilities; see
            :meth:`calibrated`.
    """

    model: nn.Module
    architecture: Architecture
    task: Task
    classes: tuple[Any, ...]
    scaling: Scaling
    target_scale: tuple[Any, Any] = (0.0, 1.0)
    encoding: Encoding | None = None
    target: str | None = None
    target_range: tuple[Any, Any] | None = None
    loss: Loss = SQUARED_ERROR
    temperature: float = 1.0

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
        """Create a predictor from a trained network and its training data.

        Args:
            model: the network.
            architecture: how it is built.
            splits: the data.
            target: the name of the predicted column of the table.
            clamp: the ``clamp_outputs`` of its training settings.
        """
        if splits.scaling is None:
            raise ValueError(f"{splits.name} is not a table of features: no predictor can be created for it")
        prepared = splits.scaling, splits.target_scale, splits.encoding
        (mean, deviation), numbers, ends = splits.target_scale, splits.train.target, None
        if clamp and splits.task == "regression":
            ends = float(numbers.min()) * deviation + mean, float(numbers.max()) * deviation + mean
        return cls(model.eval(), architecture, splits.task, splits.class_values, *prepared, target, ends)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns that rows must have; "x0", "x1", ... if it was trained on an array."""
        if self.encoding is None:
            return tuple(f"x{number}" for number in range(len(self.scaling.median)))
        return tuple(column.name for column in self.encoding.columns)

    def predict(self, rows: Any) -> NDArray[Any]:
        """The most likely class of each row, the labels with a probability above one half, or the number."""
        if self.task == "regression":
            numbers = self.loss.predictions(self._outputs(rows)).numpy()
            return numbers[:, 0] if numbers.shape[1] == 1 else numbers
        likely = self.predict_proba(rows)
        if self.task == "multilabel":
            return (likely > 0.5).astype(np.int64)
        return np.array(self.classes)[likely.argmax(1)]

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """The probability of each class or label, ``(rows, classes)``, in the order of ``classes``."""
        if self.task == "regression":
            raise ValueError("regression has no classes: use predict")
        outputs = self._outputs(rows)
        if self.task == "multilabel":
            return outputs.sigmoid().numpy()
        if self.task == "binary":
            outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
        return outputs.softmax(1).numpy()

    def score(self, rows: Any, target: Any = None) -> float:
        """Accuracy, or R² for regression, as in scikit-learn; see :meth:`scores`."""
        return self.scores(rows, target)["r2" if self.task == "regression" else "accuracy"]

    def calibrated(self, rows: Any, target: Any) -> "Predictor":
        """A copy whose probabilities are calibrated on rows that were not used for training.

        Args:
            rows: as for :meth:`predict`.
            target: the true classes.
        """
        if self.task == "regression":
            raise ValueError("regression has no probabilities to calibrate")
        plain = replace(self, temperature=1.0)
        found = temperature_of(self.task, plain._outputs(rows), self._true(np.asarray(target)))
        return replace(self, temperature=found)

    def scores(self, rows: Any, target: Any = None) -> dict[str, float]:
        """All scores for the task, by name.

        Args:
            rows: as for :meth:`predict`.
            target: the true values; default: the target column of ``rows``.
        """
        if target is None:
            rows = frame_of(rows)
            if self.target not in rows.columns:
                raise ValueError(f"rows have no column {self.target!r}: give target=, the true values")
            target = rows[self.target]
        outputs, given = self._outputs(rows), np.asarray(target)
        several = self.task == "multilabel" or (self.task == "regression" and outputs.shape[1] > 1)
        if given.shape != (wanted := tuple(outputs.shape[: 1 + several])):
            each = f"{wanted[1]} values" if several else "one value"
            raise ValueError(f"target must have {each} per row, {wanted[0]}, got the shape {given.shape}")
        return metrics.scores(self.task, outputs, self._true(given), numbers=self.loss)

    def _true(self, given: NDArray[Any]) -> torch.Tensor:
        """Class numbers, or numbers."""
        if self.task == "regression":
            if given.dtype.kind not in "fiub":
                import pandas as pd

                column = pd.Series(given, name=self.target or "target")
                given = numbers_of(column, "target", number_form(column) or "number")
            values = given.astype(np.float64)
            if gaps := np.nonzero(np.isnan(values))[0].tolist():
                raise ValueError(f"target has no value in row {gaps[0] + 1}: leave such rows out")
            return torch.from_numpy(values)
        if self.task == "multilabel":
            if not np.isin(given, (0, 1)).all():
                raise ValueError("target must hold 0 and 1, one per row and label")
            return torch.from_numpy(given.astype(np.int64))
        numbers: dict[Any, int] = {label: number for number, label in enumerate(self.classes)}
        labels = list(map(stripped, given.tolist()))
        if unknown := [each for each in labels if each not in numbers]:
            raise ValueError(f"target holds {unknown[0]!r}, which is not among {list(self.classes)}")
        return torch.tensor([numbers[each] for each in labels])

    def transform(self, rows: Any) -> torch.Tensor:
        """Encoded and scaled rows, the network's inputs. New categories become zeros, with a warning."""
        numbers = numbers_of_rows(rows, self.encoding, self.feature_names)
        return torch.from_numpy(self.scaling.apply(numbers))

    def _outputs(self, rows: Any) -> torch.Tensor:
        """In float64, so that a row's answer does not depend on which others come with it."""
        model = copy.deepcopy(self.model).double().eval()
        with torch.no_grad():
            outputs = torch.cat([model(part) for part in self.transform(rows).double().split(ROWS)])
        if self.task != "regression":
            return outputs / self.temperature
        outputs = self.loss.in_units(outputs, self.target_scale)
        if self.target_range is not None:
            outputs = self.loss.clamped(outputs, *torch.tensor(self.target_range, dtype=outputs.dtype))
        return outputs

    def save(self, folder: str | Path) -> None:
        """Write two files, JSON and tensors. Neither can contain code."""
        content = {
            "architecture": vars(self.architecture),
            "task": self.task,
            "classes": self.classes,
            "scaling": self.scaling.describe(),
            "target_scale": self.target_scale,
            "target_range": self.target_range,
            "loss": asdict(self.loss),
            "temperature": self.temperature,
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

    def export(self, path: str | Path, *, baked: bool = True) -> Path:
        """Write one file that takes raw rows and returns the results of ``predict_proba`` or ``predict``.

        It includes scaling, one-hot encoding and averages of networks; the network is in float32.

        - ``.onnx``: for any batch size, with standard operators only. Numbers are one input, float64
          ``(rows, columns)`` with NaN for missing values; categories, if any, are a second input of texts;
          the order is that of :attr:`feature_names`, and is stored in the file's metadata, with the classes.
        - ``.c``, with a header: one row of numbers in float32 at a time; see :func:`kafnets.export_c`.
        - ``.pt2``: a program of ``torch.export``, which ``torch.export.load`` reads.

        Args:
            path: of the file, which is written atomically.
            baked: convert activations to tables, see :func:`kafnets.bake`; required for .c files.
        """
        from kafnets.export.predictors import export_predictor

        return export_predictor(self, path, baked=baked)

    @classmethod
    def load(cls, folder: str | Path) -> "Predictor":
        """Load a predictor written by :meth:`save`. Safe for files from others: no code is unpickled."""
        folder = Path(folder)
        try:
            content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"{folder} has no {DESCRIPTION}: give a folder that was saved, such as .../best"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{folder / DESCRIPTION} is damaged, or not a file of kafnets ({error})"
            ) from error
        weights = load_tensors(folder / WEIGHTS, map_location="cpu")
        try:
            return cls._described(content, weights)
        except (KeyError, IndexError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{folder}: {DESCRIPTION} and {WEIGHTS} do not describe a complete network ({error!r})"
            ) from error

    @classmethod
    def _described(cls, content: dict[str, Any], weights: dict[str, Any]) -> "Predictor":
        architecture = Architecture.described(content["architecture"])
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
            None if ends is None else (ends[0], ends[1]),
            Loss(**content.get("loss", {})),
            float(content.get("temperature", 1.0)),
        )
