"""A method with one setting chosen by held-out rows, the one that ``kafnets compare --rivals`` tunes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from kafnets.comparison.rivals import KINDS
from kafnets.data.splits import Task, held_out_rows

Model = Any
SHARE = 0.15
"""Of the rows that are held out while values are tried."""


@dataclass
class Tuned:
    """Fitted to all rows with the value that was best on the held-out ones.

    Attributes:
        name: of the method.
        make: gives one that has not learned, with some settings.
        task: decides what is best: the error rate and then the log-loss, or the squared error.
        seed: of the rows that are held out.
        chosen: the value.
    """

    name: str
    make: Callable[..., Model]
    task: Task
    seed: int
    chosen: float | None = None
    model: Model = field(default=None, repr=False)

    def fit(self, rows: Any, target: NDArray[Any]) -> Self:
        """Try all values, then learn."""
        kind = KINDS[self.name]
        learned, held_out = held_out_rows(target, self.task, SHARE, np.random.default_rng(self.seed))
        given, asked = (rows.iloc[own].reset_index(drop=True) for own in (learned, held_out))

        def error(value: float) -> tuple[float, ...]:
            model = self.make(**kind.while_tuned, **{kind.tuned: value})
            model.fit(given, target[learned])
            return self._error(model, asked, target[held_out])

        self.chosen = min(kind.values, key=error)
        self.model = self.make(**kind.while_tuned, **{kind.tuned: self.chosen})
        self.model.fit(rows, target)
        return self

    def _error(self, model: Model, rows: Any, target: NDArray[Any]) -> tuple[float, ...]:
        if self.task == "regression":
            return (float(np.mean((np.asarray(model.predict(rows)).ravel() - target) ** 2)),)
        found, classes = np.asarray(model.predict_proba(rows), dtype=np.float64), np.asarray(model.classes_)
        wrong = float(np.mean(classes[found.argmax(1)] != target))
        safe = np.clip(found, 1e-12, 1)
        return wrong, float(log_loss(target, safe / safe.sum(1, keepdims=True), labels=classes))

    def predict(self, rows: Any) -> Any:
        return self.model.predict(rows)

    def predict_proba(self, rows: Any) -> Any:
        return self.model.predict_proba(rows)

    @property
    def classes_(self) -> Any:
        return self.model.classes_
