"""Scores, beside scikit-learn's."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics as theirs

from kafnets.train import metrics


@pytest.mark.parametrize("ties", [False, True])
def test_auc(ties: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    target = (torch.rand(500, generator=generator) < 0.3).long()
    scores = torch.randn(500, generator=generator) + target
    if ties:
        scores = scores.round()
    wanted = theirs.roc_auc_score(target.numpy(), scores.numpy())
    assert metrics.auc(scores, target) == pytest.approx(wanted, abs=1e-12)
    none = torch.zeros(500, dtype=torch.long)
    assert np.isnan(metrics.auc(scores, none))
    assert np.isnan(metrics.average_precision(scores, none))


def test_scores_of_each_task() -> None:
    generator = torch.Generator().manual_seed(1)
    outputs, classes = torch.randn(200, 4, generator=generator), torch.arange(200) % 4
    found = metrics.scores("multiclass", outputs, classes)
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(classes, outputs.argmax(1)))
    assert found["loss"] == pytest.approx(theirs.log_loss(classes, outputs.double().softmax(1)), rel=1e-5)
    binary = metrics.scores("binary", outputs[:, :1], classes % 2)
    assert binary["accuracy"] == pytest.approx(theirs.accuracy_score(classes % 2, outputs[:, 0] > 0))
    target = outputs[:, 1] + 0.5 * outputs[:, 0]
    regression = metrics.scores("regression", outputs[:, :1], target)
    assert regression["r2"] == pytest.approx(theirs.r2_score(target, outputs[:, 0]), rel=1e-5)
    assert regression["rmse"] == pytest.approx(
        theirs.root_mean_squared_error(target, outputs[:, 0]), rel=1e-5
    )


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "regression"])
def test_the_loss_of_several_networks_is_the_mean_of_their_losses(task: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(3, 7, 1 if task in ("binary", "regression") else 4, generator=generator)
    target = {
        "binary": torch.arange(7) % 2,
        "multiclass": torch.arange(7) % 4,
        "multilabel": (torch.randn(7, 4, generator=generator) > 0).long(),
        "regression": torch.randn(7, generator=generator),
    }[task]
    weight = torch.rand(7, generator=generator)
    for own in (None, weight):
        each = [metrics.loss(task, one, target, 0.1 * (task != "regression"), own) for one in outputs]
        found = metrics.loss(task, outputs, target, 0.1 * (task != "regression"), own)
        torch.testing.assert_close(found, torch.stack(each).mean())
