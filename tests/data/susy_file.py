"""A generated file in the published layout of SUSY."""

import gzip
import io

import numpy as np


def susy_text(rows: int) -> str:
    """Lines without a header: the label, 1 for every second row, and 18 features; the first depends on it."""
    generator = np.random.default_rng(0)
    labels, features = np.arange(rows) % 2, generator.normal(size=(rows, 18))
    features[:, 0] += 2 * labels
    stream = io.StringIO()
    np.savetxt(stream, np.column_stack([labels, features]), fmt="%.18e", delimiter=",")
    return stream.getvalue()


def susy_file(rows: int) -> bytes:
    """The same as it is published, compressed."""
    return gzip.compress(susy_text(rows).encode())
