"""Sensorless Drive Diagnosis in torch: 48 features, one hidden layer of KAFs, 11 classes.

The same network and training as in sensorless_jax.py, sensorless_keras.py and sensorless_autograd.py.
"""

import numpy as np
import torch
from torch import nn

from kafnets import KAF, data

HIDDEN, BATCH, LEARNING_RATE = 50, 100, 1e-3


def network(inputs: int, outputs: int) -> nn.Sequential:
    first, last = nn.Linear(inputs, HIDDEN), nn.Linear(HIDDEN, outputs)
    for layer in (first, last):
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
    return nn.Sequential(first, KAF(HIDDEN), last)


def main(epochs: int = 30, seed: int = 0) -> float:
    splits = data.load("sensorless_sample", seed)
    features, target = torch.from_numpy(splits.train.features), torch.from_numpy(splits.train.target)
    torch.manual_seed(seed)
    net = network(splits.inputs, splits.outputs)
    optimizer = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)

    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = generator.permutation(len(features))
        for rows in np.split(order, range(BATCH, len(order), BATCH)):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(features[rows]), target[rows]).backward()
            optimizer.step()

    with torch.no_grad():
        guesses = net(torch.from_numpy(splits.test.features)).argmax(1).numpy()
    accuracy = float(np.mean(guesses == splits.test.target))
    print(f"torch: test accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
