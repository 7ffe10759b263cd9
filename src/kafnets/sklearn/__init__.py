"""Estimators for scikit-learn: networks of learned activations for tables.

They go wherever scikit-learn's own do: pipelines, grid search, cross-validation, pickles.
"""

from kafnets.sklearn.estimators import KafnetClassifier as KafnetClassifier
from kafnets.sklearn.estimators import KafnetRegressor as KafnetRegressor
