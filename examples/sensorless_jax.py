"""Sensorless Drive Diagnosis in JAX with Flax NNX and Optax: 48 features, a layer of KAFs, 11 classes.

The same network and training as in sensorless_torch.py, sensorless_keras.py and sensorless_autograd.py.
"""

import jax
import numpy as np
import optax
from flax import nnx
from jax.typing import ArrayLike

from kafnets import data
from kafnets.jax import KAF

HIDDEN, BATCH, LEARNING_RATE = 50, 100, 1e-3


def network(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Sequential:
    he = nnx.initializers.he_uniform()
    return nnx.Sequential(
        nnx.Linear(inputs, HIDDEN, kernel_init=he, rngs=rngs),
        KAF(HIDDEN, rngs=rngs),
        nnx.Linear(HIDDEN, outputs, kernel_init=he, rngs=rngs),
    )


def loss(net: nnx.Sequential, x: ArrayLike, y: ArrayLike) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()


@nnx.jit
def step(net: nnx.Sequential, optimizer: nnx.Optimizer[nnx.Sequential], x: ArrayLike, y: ArrayLike) -> None:
    optimizer.update(net, nnx.grad(loss)(net, x, y))


def main(epochs: int = 30, seed: int = 0) -> float:
    splits = data.load("sensorless_sample", seed)
    features, target = splits.train.features, splits.train.target
    net = network(splits.inputs, splits.outputs, nnx.Rngs(seed))
    optimizer = nnx.Optimizer(net, optax.adam(LEARNING_RATE), wrt=nnx.Param)

    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = generator.permutation(len(features))
        for rows in np.split(order, range(BATCH, len(order), BATCH)):
            step(net, optimizer, features[rows], target[rows])

    guesses = np.asarray(net(splits.test.features)).argmax(1)
    accuracy = float(np.mean(guesses == splits.test.target))
    print(f"jax: test accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
