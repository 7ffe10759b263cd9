"""Activations that change the width or mix channels."""

import pytest
import torch

from kafnets import CReLU, MultiBias, NetworkInNetwork, OrderStatistic


def test_crelu_keeps_everything() -> None:
    s = torch.randn(4, 3, 5)
    positive, negative = CReLU(3)(s).chunk(2, 1)
    torch.testing.assert_close(positive - negative, s)


def test_order_statistic_sorts_each_group() -> None:
    s = torch.tensor([[1.0, 3.0, 2.0, 5.0, 4.0, 6.0]])
    assert OrderStatistic(6, group_size=3)(s).tolist() == [[3.0, 2.0, 1.0, 6.0, 5.0, 4.0]]
    with pytest.raises(ValueError, match="num_features must be a multiple of group_size=4, got 6"):
        OrderStatistic(6, group_size=4)


def test_multi_bias() -> None:
    module = MultiBias(2, biases=3)
    assert module.bias.tolist() == [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    assert module(torch.tensor([[0.5, -0.5]])).tolist() == [[0.0, 0.5, 1.5, 0.0, 0.0, 0.5]]
    assert MultiBias(2, biases=1).bias.tolist() == [[0.0, 0.0]]
    smooth = MultiBias(2, biases=2, function="tanh", dim=-1)
    torch.testing.assert_close(smooth(torch.zeros(1, 2))[0, :2], torch.tanh(torch.tensor([-1.0, 1.0])))


def test_network_in_network_widths() -> None:
    module = NetworkInNetwork(4, widths=(7, 3))
    assert module(torch.randn(2, 4, 5, 5)).shape == (2, 3, 5, 5)
    assert module.out_features == 3
    with pytest.raises(ValueError, match="widths must hold one number or more"):
        NetworkInNetwork(4, widths=())
