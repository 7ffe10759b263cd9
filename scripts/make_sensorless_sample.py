"""Draw the sample of Sensorless that ships with the package: 500 rows per class, 5,500 in all.

Usage: KAFNETS_DATA=FOLDER python scripts/make_sensorless_sample.py, where FOLDER holds sensorless.npz
with the complete data set (X float32 (58509, 48), y int64 0..10).
"""

import os
from pathlib import Path

import numpy as np

ROWS_A_CLASS = 500
TARGET = Path(__file__).parents[1] / "src/kafnets/data/sensorless_sample.npz"


def main() -> None:
    """Write the sample, in random order, always the same."""
    with np.load(Path(os.environ["KAFNETS_DATA"]) / "sensorless.npz") as complete:
        features, labels = complete["X"], complete["y"]
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(labels == label), ROWS_A_CLASS, replace=False) for label in range(11)]
    )
    rng.shuffle(rows)
    np.savez_compressed(TARGET, X=features[rows], y=labels[rows].astype(np.uint8), row=rows.astype(np.int32))
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
