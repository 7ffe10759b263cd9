"""Docstrings: examples run, and activations have a formula, an example and a source."""

import doctest
from typing import Any

import pytest
import torch
from torch import nn

import kafnets
from kafnets.registry import facts_of, find, own_names
from tests.docs.test_site import documented, value_of

RUN_HERE = sorted(name for name in documented() if not name.startswith("kafnets.keras"))
"""Keras chooses its backend once per process: its examples are in the tutorial."""
GIVEN: dict[str, Any] = {"kafnets": kafnets, "nn": nn, "torch": torch}
"""What the API reference says that examples suppose."""


@pytest.mark.parametrize("name", RUN_HERE)
def test_examples_run(name: str) -> None:
    value = value_of(name)
    runner = doctest.DocTestRunner()
    torch.manual_seed(0)  # whatever other tests have drawn before
    for found in doctest.DocTestFinder(recurse=False).find(value, name, module=False, globs=dict(GIVEN)):
        assert runner.run(found).failed == 0


@pytest.mark.parametrize("name", own_names())
def test_activations_have_formula_example_and_source(name: str) -> None:
    text = find(name).__doc__ or ""
    assert ":math:" in text or ".. math::" in text
    assert ">>> " in text
    assert facts_of(name).source in text
