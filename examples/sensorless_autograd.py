"""Sensorless Drive Diagnosis in NumPy with autograd: 48 features, one hidden layer of KAFs, 11 classes.

The same network and training as in sensorless_torch.py, sensorless_jax.py and sensorless_keras.py.
"""

from typing import Any

import autograd.numpy as np
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp

from kafnets import data
from kafnets.autograd import coefficients, kaf

HIDDEN, BATCH, LEARNING_RATE = 50, 100, 1e-3
Parameters = dict[str, Any]


def linear(inputs: int, outputs: int, generator: Any) -> tuple[Any, Any]:
    bound = np.sqrt(6 / inputs)  # He's
    return generator.uniform(-bound, bound, (inputs, outputs)), np.zeros(outputs)


def network(parameters: Parameters, x: Any) -> Any:
    (w1, b1), (w2, b2) = parameters["first"], parameters["last"]
    return kaf(x @ w1 + b1, parameters["alpha"]) @ w2 + b2


def cross_entropy(logits: Any, target: Any) -> Any:
    return np.mean(logsumexp(logits, axis=1) - logits[np.arange(len(target)), target])


def main(epochs: int = 30, seed: int = 0) -> float:
    splits = data.load("sensorless_sample", seed)
    features, target = splits.train.features, splits.train.target
    generator = np.random.default_rng(seed)
    parameters = {
        "first": linear(splits.inputs, HIDDEN, generator),
        "alpha": coefficients(HIDDEN, seed=seed),
        "last": linear(HIDDEN, splits.outputs, generator),
    }
    batches: list[Any] = []
    for _ in range(epochs):
        order = generator.permutation(len(features))
        batches += np.split(order, range(BATCH, len(order), BATCH))

    def loss(parameters: Parameters, step: int) -> Any:
        rows = batches[step]
        return cross_entropy(network(parameters, features[rows]), target[rows])

    trained = adam(grad(loss), parameters, step_size=LEARNING_RATE, num_iters=len(batches))

    guesses = network(trained, splits.test.features).argmax(1)
    accuracy = float(np.mean(guesses == splits.test.target))
    print(f"autograd: test accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
