"""KAFs with autograd and NumPy alone: a small network learns a wave, and the bandwidth with it."""

from typing import Any

import autograd.numpy as np
from autograd import grad
from autograd.misc.optimizers import adam

from kafnets import Expansion, Gaussian
from kafnets.autograd import coefficients, kaf

HIDDEN = 32
EXPANSION = Expansion.of(kernel=Gaussian(gamma=1.0, learn_gamma=True))
Parameters = dict[str, Any]


def network(parameters: Parameters, x: Any) -> Any:
    s = x @ parameters["w1"] + parameters["b1"]
    g = kaf(s, parameters["alpha"], EXPANSION, gamma=np.exp(parameters["log_gamma"]))
    return g @ parameters["w2"] + parameters["b2"]


def main(steps: int = 300, seed: int = 0) -> float:
    x = np.linspace(-1, 1, 256)[:, None]
    y = np.sin(6 * x) + 0.5 * x
    generator = np.random.default_rng(seed)
    parameters = {
        "w1": generator.normal(size=(1, HIDDEN)),
        "b1": generator.normal(size=HIDDEN),
        "alpha": coefficients(HIDDEN, seed=seed),
        "log_gamma": np.array(0.0),
        "w2": generator.normal(size=(HIDDEN, 1)) / np.sqrt(HIDDEN),
        "b2": np.zeros(1),
    }

    def loss(parameters: Parameters, step: int = 0) -> Any:
        return np.mean((network(parameters, x) - y) ** 2)

    trained = adam(grad(loss), parameters, step_size=0.01, num_iters=steps)
    error = float(np.sqrt(loss(trained)))
    print(
        f"autograd: root mean squared error {error:.4f}, learned bandwidth {np.exp(trained['log_gamma']):.2f}"
    )
    return error


if __name__ == "__main__":
    main()
