"""Which columns of a table matter to a fitted estimator."""

from typing import Any

from kafnets.data.reading import frame_of
from kafnets.sklearn.validation import is_frame


def importances(estimator: Any, X: Any, y: Any, **options: Any) -> Any:
    """A DataFrame of what the score loses if a column is shuffled, by its name, the largest first.

    Args:
        estimator: that was fitted.
        X: rows.
        y: their true values.
        options: of ``sklearn.inspection.permutation_importance``.
    """
    import pandas as pd
    from sklearn.inspection import permutation_importance

    rows = frame_of(X) if is_frame(X) else X
    found = permutation_importance(estimator, rows, y, random_state=estimator.random_state, **options)
    names = pd.Index(getattr(rows, "columns", estimator.predictor_.feature_names), name="feature")
    scores = {"mean": found.importances_mean, "std": found.importances_std}
    return pd.DataFrame(scores, index=names).sort_values("mean", ascending=False)
