"""KAFs in Equinox: a module of three lines around `kafnets.jax.kaf`, which learns a wave."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from kafnets import Expansion, Gaussian
from kafnets.jax import coefficients, kaf

EXPANSION = Expansion.of(kernel=Gaussian(gamma=1.0, learn_gamma="neuron"))


class KAF(eqx.Module):
    """A function for each feature, with its own learned bandwidth."""

    alpha: jax.Array
    log_gamma: jax.Array

    def __init__(self, num_features: int, *, key: jax.Array) -> None:
        self.alpha = coefficients(num_features, key=key)
        self.log_gamma = jnp.zeros(num_features)

    def __call__(self, x: jax.Array) -> jax.Array:
        return kaf(x, self.alpha, EXPANSION, gamma=jnp.exp(self.log_gamma))


class Network(eqx.Module):
    """A network for one row, as usual in Equinox; use vmap for many."""

    first: eqx.nn.Linear
    activation: KAF
    last: eqx.nn.Linear

    def __init__(self, hidden: int, *, key: jax.Array) -> None:
        one, two, three = jax.random.split(key, 3)
        self.first = eqx.nn.Linear(1, hidden, key=one)
        self.activation = KAF(hidden, key=two)
        self.last = eqx.nn.Linear(hidden, 1, key=three)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(self.activation(self.first(x)))


OPTIMIZER = optax.adam(0.01)


def loss(net: Network, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((jax.vmap(net)(x) - y) ** 2)


@eqx.filter_jit
def step(net: Network, state: optax.OptState, x: jax.Array, y: jax.Array) -> tuple[Network, optax.OptState]:
    updates, state = OPTIMIZER.update(eqx.filter_grad(loss)(net, x, y), state)
    return eqx.apply_updates(net, updates), state


def main(steps: int = 300, seed: int = 0) -> float:
    x = jnp.linspace(-1, 1, 256)[:, None]
    y = jnp.sin(6 * x) + 0.5 * x
    net = Network(32, key=jax.random.key(seed))
    state = OPTIMIZER.init(eqx.filter(net, eqx.is_array))
    for _ in range(steps):
        net, state = step(net, state, x, y)
    error = float(jnp.sqrt(loss(net, x, y)))
    print(f"equinox: root mean squared error {error:.4f}")
    return error


if __name__ == "__main__":
    main()
