"""Members that share the weights of their linear maps, as one network."""

import torch
from torch import Tensor, nn

from kafnets.checks import check_integer
from kafnets.nn.averaged import Link, averaged


class MemberLinear(nn.Module):
    r"""A linear map whose weights several members share; each has its own scales and biases.

    Member :math:`j` computes :math:`W (r_j \circ x_j) + b_j`, with the same matrix :math:`W` for all. Members
    are side by side along the last axis.

    >>> kafnets.nn.MemberLinear(3, 2, members=8)(torch.randn(5, 24)).shape
    torch.Size([5, 16])

    Args:
        in_features: inputs of one member.
        out_features: outputs of one member.
        members: number of members.
        device: of the parameters.
        dtype: of the parameters.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        members: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (
            ("in_features", in_features),
            ("out_features", out_features),
            ("members", members),
        ):
            check_integer(name, value)
        self.in_features, self.out_features, self.members = in_features, out_features, members
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.scale = nn.Parameter(torch.ones(members * in_features, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(members * out_features, device=device, dtype=dtype))
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu")

    def forward(self, inputs: Tensor) -> Tensor:
        """From (..., members * in_features) to (..., members * out_features)."""
        own = (inputs * self.scale).unflatten(-1, (self.members, self.in_features))
        return (own @ self.weight.T).flatten(-2) + self.bias

    def extra_repr(self) -> str:
        """The text shown in ``repr``."""
        return f"{self.in_features}, {self.out_features}, members={self.members}"


class SharedMembers(nn.Module):
    r"""One network that is several: its members share linear weights, and their predictions are averaged.

    Members differ in the scales and biases of their linear maps and in the parameters of their activations
    (as in TabM, Gorishniy et al., 2024, whose activations have none). In training mode, each row of a batch
    is given to only ``passes`` of them, and the result has these as its first axis, so that each has its own
    loss: the weights learn from every row, and the network takes a fraction of the time of ``members``
    networks. In evaluation mode all members see all rows, and their predictions are averaged as by
    :class:`kafnets.nn.Averaged`. :func:`kafnets.shared_mlp` builds such networks.

    Args:
        network: takes and gives the features of all members side by side, see :class:`MemberLinear`.
        members: number of members.
        link: the meaning of outputs, as in :class:`kafnets.nn.Averaged`.
        first: a module that is applied to the inputs once, for all members, such as
            :class:`kafnets.nn.KAFEmbedding`.
        passes: number of members that are trained with a row, from 1 to ``members``.
    """

    def __init__(
        self,
        network: nn.Module,
        members: int,
        link: Link,
        *,
        first: nn.Module | None = None,
        passes: int = 2,
    ) -> None:
        super().__init__()
        check_integer("members", members)
        check_integer("passes", passes)
        if passes > members:
            raise ValueError(f"passes must be at most the number of members, {members}, got {passes}")
        self.first = nn.Identity() if first is None else first
        self.network, self.members, self.link, self.passes = network, members, link, passes

    def forward(self, inputs: Tensor) -> Tensor:
        """The averaged outputs, (rows, outputs); in training mode (passes, rows, outputs)."""
        features = self.first(inputs)
        if not self.training:
            outputs = self._each(features[:, None].expand(-1, self.members, -1))
            return averaged(outputs.movedim(1, 0), self.link)
        # Rows are in random order, so blocks of them are random: the batch, several times over, is cut into
        # one block per member. What fills the last block is left out of the result.
        rows = len(features)
        block = -(-self.passes * rows // self.members)
        position = torch.arange(self.members * block, device=features.device)
        outputs = self._each(features[position.view(self.members, block).T % rows])
        return outputs.movedim(1, 0).flatten(0, 1)[: self.passes * rows].unflatten(0, (self.passes, rows))

    def _each(self, features: Tensor) -> Tensor:
        """From and to one axis for rows, one for members and one for features."""
        return self.network(features.flatten(1)).unflatten(1, (self.members, -1))

    def extra_repr(self) -> str:
        """The text shown in ``repr``."""
        return f"members={self.members}, link={self.link!r}, passes={self.passes}"
