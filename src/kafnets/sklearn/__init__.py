"""Estimators for scikit-learn: networks of learned activations for tables.

They work like scikit-learn's own in pipelines, grid search, cross-validation and pickles.
"""

from kafnets.sklearn.estimators import KafnetClassifier as KafnetClassifier
from kafnets.sklearn.estimators import KafnetRegressor as KafnetRegressor
