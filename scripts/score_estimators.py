"""Score the estimators beside scikit-learn's network: python scripts/score_estimators.py

On other divisions than those that their defaults were chosen on. Writes benchmarks/results/estimators.json.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kafnets.provenance import provenance
from kafnets.sklearn import KafnetClassifier

STORED = Path(__file__).parents[1] / "benchmarks/results/estimators.json"
DIVISIONS = range(100, 105)


def main() -> None:
    warnings.simplefilter("ignore")  # scikit-learn's network has not converged, it says
    torch.set_num_threads(1)
    result: dict[str, object] = {"provenance": provenance(), "divisions": list(DIVISIONS), "accuracy": {}}
    for name, load in (("digits", load_digits), ("breast_cancer", load_breast_cancer)):
        features, labels = load(return_X_y=True)
        for hidden in ((100,), (50, 50)):
            scores: dict[str, list[float]] = {}
            for seed in DIVISIONS:
                train, test, y, y_test = train_test_split(
                    features, labels, random_state=seed, stratify=labels
                )
                network = MLPClassifier(hidden, random_state=seed)
                for label, model in (
                    ("KafnetClassifier", KafnetClassifier(hidden, random_state=seed)),
                    ("KafnetClassifier, relu", KafnetClassifier(hidden, "relu", random_state=seed)),
                    ("MLPClassifier", network),
                    ("StandardScaler, MLPClassifier", make_pipeline(StandardScaler(), network)),
                ):
                    scores.setdefault(label, []).append(model.fit(train, y).score(test, y_test))
            result["accuracy"][f"{name}, {hidden}"] = {  # type: ignore[index]
                label: {"mean": np.mean(values), "deviation": np.std(values, ddof=1)}
                for label, values in scores.items()
            }
    STORED.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
