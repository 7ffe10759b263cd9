"""Global generators."""

import random

import numpy as np
import torch

from kafnets.randomness import own_randomness


def test_generators_are_given_back() -> None:
    def drawn() -> tuple[float, float, float]:
        return random.random(), float(np.random.rand()), torch.rand(1).item()  # noqa: NPY002

    with own_randomness():
        expected = drawn()
    with own_randomness():
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)
        assert drawn() != expected
    with own_randomness():
        assert drawn() == expected
