"""Sensorless Drive Diagnosis in Keras, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

The same network and training as in sensorless_torch.py, sensorless_jax.py and sensorless_autograd.py.
"""

from kafnets import data
from kafnets.keras import KAF  # before keras, so that TensorFlow and Triton can be used together

# isort: split
import keras
import numpy as np
from keras.layers import Dense

HIDDEN, BATCH, LEARNING_RATE = 50, 100, 1e-3


def network(inputs: int, outputs: int) -> keras.Sequential:
    return keras.Sequential(
        [
            keras.Input((inputs,)),
            Dense(HIDDEN, kernel_initializer="he_uniform"),
            KAF(),
            Dense(outputs, kernel_initializer="he_uniform"),
        ]
    )


def main(epochs: int = 30, seed: int = 0) -> float:
    splits = data.load("sensorless_sample", seed)
    keras.utils.set_random_seed(seed)
    net = network(splits.inputs, splits.outputs)
    net.compile(
        keras.optimizers.Adam(LEARNING_RATE),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    net.fit(splits.train.features, splits.train.target, batch_size=BATCH, epochs=epochs, verbose=0)

    guesses = net.predict(splits.test.features, verbose=0).argmax(1)
    accuracy = float(np.mean(guesses == splits.test.target))
    print(f"keras on {keras.backend.backend()}: test accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
