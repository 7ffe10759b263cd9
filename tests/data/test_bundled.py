import numpy as np

from kafnets.data import sensorless_sample


def test_sensorless_sample_is_balanced_and_whole() -> None:
    features, labels = sensorless_sample()
    assert features.shape == (5500, 48)
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(np.bincount(labels), np.full(11, 500))
    assert len(np.unique(features, axis=0)) == 5500
    assert (np.diff(labels) != 0).mean() > 0.8  # in random order
