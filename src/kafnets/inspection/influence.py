"""How much a network's outputs depend on single features."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from kafnets.inspection.curves import Half
from kafnets.nn.watch import evaluating

ROWS = 1000
"""Rows that are shuffled."""


def influence(model: nn.Module, features: Tensor, columns: Iterable[int]) -> Half | None:
    r"""The share of the variance of a network's outputs that depends on each feature, from 0 to 1.

    With the values of feature :math:`f` shuffled among the rows,

    .. math:: \frac{\sum \mathrm{E} (o(x) - o(x_{f \text{ shuffled}}))^2}{2 \sum \mathrm{Var}\, o(x)},

    summed over outputs: Sobol's total index if features are independent. Shares of features that act together
    overlap. None if the outputs are not one tensor.

    Args:
        model: takes rows of features.
        features: ``(rows, features)``, of which the first are looked at.
        columns: numbers of the features.
    """
    rows = features[:ROWS]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).to(rows.device)
    shares = []
    with evaluating(model):
        outputs = model(rows)
        if not isinstance(outputs, Tensor):
            return None
        variance = (outputs - outputs.mean(0)).double().square().sum().clamp(min=1e-300)
        for column in columns:
            shuffled = rows.clone()
            shuffled[:, column] = rows[order, column]
            change = (model(shuffled) - outputs).double().square().sum()
            shares.append((change / (2 * variance)).nan_to_num(0).clamp(0, 1))
    found: Half = torch.stack(shares).half().cpu().numpy()
    return found
