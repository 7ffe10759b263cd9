from kafnets.frontends.exchange import to_torch as to_torch
from kafnets.jax.functional import coefficients as coefficients
from kafnets.jax.functional import kaf as kaf
from kafnets.jax.functional import kaf2d as kaf2d
from kafnets.jax.modules import KAF as KAF
from kafnets.jax.modules import KAF2D as KAF2D
from kafnets.jax.modules import from_torch as from_torch
