"""Several networks whose predictions are averaged."""

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Link = Literal["identity", "logistic", "softmax", "log"]
"""What outputs are made of: the numbers themselves, log-odds, logits of classes, or logarithms."""


def averaged(outputs: Tensor, link: Link) -> Tensor:
    """Outputs that give the mean of the predictions of several outputs along the first axis."""
    if link == "identity":
        return outputs.mean(0)
    if link == "logistic":  # log of the mean probability over log of the mean of its opposite
        return functional.logsigmoid(outputs).logsumexp(0) - functional.logsigmoid(-outputs).logsumexp(0)
    logarithms = outputs.log_softmax(-1) if link == "softmax" else outputs
    return logarithms.logsumexp(0) - math.log(len(outputs))


class Averaged(nn.Module):
    r"""Networks whose predictions are averaged, as outputs of one network.

    Probabilities are averaged, not logits: of :math:`k` networks with outputs :math:`o_j`, the logits of
    classes are :math:`\log \frac{1}{k} \sum_j \mathrm{softmax}(o_j)`, and the log-odds are those of the mean
    probability. In training mode the outputs of all networks are returned, along a new first axis, so that
    each can have its own loss.

    >>> both = kafnets.nn.Averaged([nn.Linear(3, 2), nn.Linear(3, 2)], "softmax").eval()
    >>> both(torch.randn(5, 3)).shape
    torch.Size([5, 2])
    >>> both.train()(torch.randn(5, 3)).shape
    torch.Size([2, 5, 2])

    Args:
        members: the networks, which take the same inputs.
        link: the meaning of their outputs: "identity" for numbers, "logistic" for log-odds, "softmax" for
            logits of classes along the last axis, "log" for logarithms of numbers.
    """

    def __init__(self, members: Iterable[nn.Module], link: Link) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.link = link

    def forward(self, inputs: Tensor) -> Tensor:
        """The averaged outputs; in training mode, the outputs of all networks."""
        outputs = torch.stack([member(inputs) for member in self.members])
        if self.training:
            return outputs
        return averaged(outputs, self.link)

    def extra_repr(self) -> str:
        """The text shown in ``repr``."""
        return f"link={self.link!r}"
