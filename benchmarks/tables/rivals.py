"""Methods of the suite by name: what people use on tables, and our estimators, each at its own defaults."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables.tuned import Tuned
from kafnets.data.splits import Task

Model = Any
"""With fit and predict, and predict_proba for classes, as in scikit-learn."""

TUNED = "-tuned"
"""Behind a method's name: one of its settings is chosen by held-out rows."""

PACKAGES = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "boosting": "scikit-learn",
    "forest": "scikit-learn",
    "mlp": "scikit-learn",
    "realmlp-td": "pytabkit",
    "realmlp-td-6": "pytabkit",
    "realmlp-td-s": "pytabkit",
    "tabm": "pytabkit",
    "edgewise": "kafnets",
}
"""By name: the package that brings it; "realmlp-td-6" averages six networks, each with another fold held out.

"edgewise" is a network with a KAF per connection. The estimators are "kafnets", "kafnets-1" for one network,
"kafnets-shared" for members that share weights, "kafnets:periodic" with cosines in place of KAFs as
embeddings, and "kafnets:relu" or "kafnets-1:relu" with another activation; the default with one
ingredient of its recipe left out, such as "kafnets:no-dropout", or added, such as "kafnets:biases"; and with
other probabilities, "kafnets:calibrated" and "kafnets:by-loss".
"""


OURS: dict[str, dict[str, Any]] = {
    "kafnets": {},
    "kafnets-1": {"n_members": 1},
    "kafnets-1-longer": {"n_members": 1, "epochs": 180},
    "kafnets-3": {"n_members": 3},
    "kafnets-shared": {"n_members": 8, "share_weights": True},
    "kafnets:periodic": {"n_members": 6, "embedding": (None, "periodic") * 3},
    "kafnets:no-learned": {"activation": "mish", "embedding": None},
    "kafnets:no-base": {"activation_options": {}},
    "kafnets:no-embedding": {"embedding": None},
    "kafnets:embed-all": {"embedding": "kaf"},
    "kafnets:standardized": {"standardized": True},
    "kafnets:beta-0.999": {"settings": {"betas": (0.9, 0.999)}},
    "kafnets:one-cosine": {"settings": {"schedule": "cosine"}},
    "kafnets:no-dropout": {"dropout": 0.0},
    "kafnets:no-decay": {"weight_decay": 0.0},
    "kafnets:steady": {"settings": {"regularization_schedule": None}},
    "kafnets:no-smoothing": {"label_smoothing": 0.0},
    "kafnets:last-epoch": {"settings": {"keep": "last"}},
    "kafnets:biases": {"initialize_biases": True},
    "kafnets:slow-kafs": {"activation_lr": 0.1},
    "kafnets:tails": {"activation_options": {"base": "mish", "tails": "linear"}},
    "kafnets:clamped": {"settings": {"clamp_outputs": True}},
    "kafnets:calibrated": {"calibrate_probabilities": True},
    "kafnets:by-loss": {"metric": "loss"},
}
"""By name: what is not the default; ``settings`` and ``standardized`` as in :mod:`variants`."""


def model_for(name: str, task: Task, seed: int) -> Model:
    """One that has not learned yet.

    Args:
        name: one of :data:`PACKAGES`, behind which "-tuned" may stand unless it is of pytabkit; or "kafnets"
            or "kafnets-1", behind which ":" and the name of an activation may stand.
        task: "binary", "multiclass" or "regression".
        seed: of all that is random.
    """
    makers: dict[str, Callable[..., Model]] = {
        "lightgbm": _lightgbm,
        "xgboost": _xgboost,
        "catboost": _catboost,
        "boosting": _boosting,
        "forest": _forest,
        "mlp": _mlp,
        "edgewise": _edgewise,
    }
    kind, _, activation = (name, "", "") if name in OURS else name.partition(":")
    named = {"activation": activation} if activation else {}
    regression = task == "regression"
    try:
        if kind in OURS:
            return _kafnets(regression, seed, **OURS[kind] | named)
        if PACKAGES.get(name) == "pytabkit":
            return _of_pytabkit(name, regression, seed)
        if name in makers:
            return makers[name](regression, seed)
        if (stem := name.removesuffix(TUNED)) in makers:
            makers[stem](regression, seed)  # a package that is missing is told now
            return Tuned(stem, partial(makers[stem], regression, seed), task, seed)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} needs {error.name}: pip install {PACKAGES.get(name, 'kafnets[experiments]')}",
            name=error.name,
        ) from error
    raise ValueError(f"method must be kafnets, kafnets:ACTIVATION, {', '.join(PACKAGES)}, got {name!r}")


def probabilities(model: Model, rows: Any, classes: int) -> NDArray[np.float64]:
    """How likely each class is, ``(rows, classes)``, also where the model has not seen them all."""
    given = np.asarray(model.predict_proba(rows), dtype=np.float64)
    every = np.zeros((len(given), classes))
    every[:, np.asarray(model.classes_, dtype=np.int64)] = given
    return every


def _lightgbm(regression: bool, seed: int, **options: Any) -> Model:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(
        random_state=seed, n_jobs=1, verbose=-1, **options
    )


def _xgboost(regression: bool, seed: int, **options: Any) -> Model:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBRegressor if regression else XGBClassifier)(
        random_state=seed, n_jobs=1, enable_categorical=True, **options
    )


def _catboost(regression: bool, seed: int, **options: Any) -> Model:
    from catboost import CatBoostClassifier, CatBoostRegressor

    fixed = {"random_seed": seed, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    kind = CatBoostRegressor if regression else CatBoostClassifier
    return _WithCategories(kind(**fixed, **options), "cat_features")


def _boosting(regression: bool, seed: int, **options: Any) -> Model:
    from sklearn import ensemble

    kind = ensemble.HistGradientBoostingRegressor if regression else ensemble.HistGradientBoostingClassifier
    return kind(random_state=seed, **options)


def _forest(regression: bool, seed: int, **options: Any) -> Model:
    from sklearn import ensemble

    kind = ensemble.RandomForestRegressor if regression else ensemble.RandomForestClassifier
    return _prepared(kind(random_state=seed, n_jobs=1, **options), gaps="median")


def _mlp(regression: bool, seed: int, **options: Any) -> Model:
    """With scaled features, and a scaled target."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import StandardScaler

    kind = MLPRegressor if regression else MLPClassifier
    model = _with_scaled_target(kind(random_state=seed, **options), regression)
    return _prepared(model, gaps="median", scaler=StandardScaler())


def _edgewise(regression: bool, seed: int, **options: Any) -> Model:
    """With features that are scaled as by the estimators, and a scaled target."""
    from kafnets.comparison.edgewise import EdgewiseClassifier, EdgewiseRegressor

    kind = EdgewiseRegressor if regression else EdgewiseClassifier
    model = _with_scaled_target(kind(random_state=seed, **options), regression)
    return _prepared(model, scaler=_Robust())


def _with_scaled_target(model: Model, regression: bool) -> Model:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler()) if regression else model


def _of_pytabkit(name: str, regression: bool, seed: int) -> Model:
    """Networks do not take gaps in numbers: the median is put there."""
    from pytabkit import models  # noqa: F401  names the package if it is missing
    from pytabkit.models.sklearn import sklearn_interfaces as interfaces
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    stem = {"realmlp-td-s": "RealMLP_TD_S", "tabm": "TabM_D"}.get(name, "RealMLP_TD")
    folds = {"n_cv": 6} if name == "realmlp-td-6" else {}
    kind = getattr(interfaces, f"{stem}_{'Regressor' if regression else 'Classifier'}")
    filled = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    return make_pipeline(filled, kind(device="cpu", random_state=seed, n_threads=1, verbosity=0, **folds))


def _kafnets(
    regression: bool,
    seed: int,
    settings: Mapping[str, Any] | None = None,
    standardized: bool = False,
    **options: Any,
) -> Model:
    """Takes tables as they are."""
    from benchmarks.tables.variants import VariantClassifier, VariantRegressor
    from kafnets.sklearn import KafnetClassifier, KafnetRegressor

    # See PLAN.md: the default was not calibrated when it was run.
    uncalibrated = {} if regression else {"calibrate_probabilities": False}
    about = {"random_state": seed, "device": "cpu", "verbose": False} | uncalibrated | options
    if settings is None and not standardized:
        return (KafnetRegressor if regression else KafnetClassifier)(**about)
    variant = (VariantRegressor if regression else VariantClassifier)(**about)
    variant.changes, variant.standardized = settings or {}, standardized
    return variant


def _prepared(model: Model, gaps: str | None = None, scaler: Any = None) -> Model:
    """Behind one-hot categories, in the order of the columns."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers = make_column_selector(dtype_include="number")
    encoded = make_column_transformer(
        ("passthrough" if gaps is None else SimpleImputer(strategy=gaps), numbers),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_include="category"),
        ),
    )
    return make_pipeline(encoded, *([] if scaler is None else [scaler]), model)


class _Robust:
    """As the estimators scale features; gaps are filled with medians."""

    def fit(self, rows: NDArray[np.float64], target: Any = None) -> "_Robust":
        from kafnets.data.scaling import RobustScaling

        self.scaling = RobustScaling.of(rows)
        return self

    def transform(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        return self.scaling.apply(rows)


class _WithCategories:
    """A model that must be told which columns are categories, and takes them as text."""

    def __init__(self, model: Model, argument: str) -> None:
        self.model, self.argument = model, argument

    def fit(self, rows: Any, target: NDArray[Any]) -> "_WithCategories":
        names = rows.columns[rows.dtypes == "category"].tolist()
        self.model.fit(rows.astype(dict.fromkeys(names, str)), target, **{self.argument: names})
        return self

    def predict(self, rows: Any) -> Any:
        return self.model.predict(self._texts(rows))

    def predict_proba(self, rows: Any) -> Any:
        return self.model.predict_proba(self._texts(rows))

    def _texts(self, rows: Any) -> Any:
        return rows.astype(dict.fromkeys(rows.columns[rows.dtypes == "category"], str))

    @property
    def classes_(self) -> Any:
        return self.model.classes_
