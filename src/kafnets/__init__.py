"""Neural networks whose activation functions are learned."""

from typing import TYPE_CHECKING

from kafnets.coexistence import keep_triton_out
from kafnets.kernels import Gaussian as Gaussian
from kafnets.kernels import Kernel as Kernel
from kafnets.kernels import Periodic as Periodic
from kafnets.kernels import Polynomial as Polynomial
from kafnets.kernels import ReLUKernel as ReLUKernel
from kafnets.kernels import Softplus as Softplus
from kafnets.networks import cnn as cnn
from kafnets.networks import edgewise_mlp as edgewise_mlp
from kafnets.networks import mlp as mlp
from kafnets.nn.activation import Activation as Activation
from kafnets.nn.activation import ByChannel as ByChannel
from kafnets.nn.edgewise import EdgewiseKAF as EdgewiseKAF
from kafnets.nn.expansions import KAF as KAF
from kafnets.nn.expansions import KAF2D as KAF2D
from kafnets.nn.initializers import Initializer as Initializer
from kafnets.nn.initializers import Normal as Normal
from kafnets.nn.initializers import Ridge as Ridge
from kafnets.nn.regularization import distance_from_start as distance_from_start
from kafnets.nn.regularization import param_groups as param_groups
from kafnets.nn.regularization import penalty as penalty
from kafnets.ops import Backend as Backend
from kafnets.ops import backend as backend
from kafnets.ops import set_backend as set_backend
from kafnets.ops import use_backend as use_backend
from kafnets.registry import Facts as Facts
from kafnets.registry import create as create
from kafnets.registry import names as names
from kafnets.registry import register as register
from kafnets.zoo import APL as APL
from kafnets.zoo import PAF as PAF
from kafnets.zoo import PELU as PELU
from kafnets.zoo import SAF as SAF
from kafnets.zoo import BetaSwish as BetaSwish
from kafnets.zoo import CReLU as CReLU
from kafnets.zoo import GeneralizedTanh as GeneralizedTanh
from kafnets.zoo import Hermite as Hermite
from kafnets.zoo import LpMaxout as LpMaxout
from kafnets.zoo import LpUnit as LpUnit
from kafnets.zoo import Maxout as Maxout
from kafnets.zoo import MultiBias as MultiBias
from kafnets.zoo import NetworkInNetwork as NetworkInNetwork
from kafnets.zoo import NoisyHardSigmoid as NoisyHardSigmoid
from kafnets.zoo import NoisyHardTanh as NoisyHardTanh
from kafnets.zoo import OrderStatistic as OrderStatistic
from kafnets.zoo import PReLU as PReLU
from kafnets.zoo import SoftMaxout as SoftMaxout
from kafnets.zoo import SReLU as SReLU

__version__ = "0.1.0"

keep_triton_out()

if TYPE_CHECKING:
    from kafnets import autograd as autograd
    from kafnets import data as data
    from kafnets import jax as jax
    from kafnets import keras as keras
    from kafnets import plot as plot
    from kafnets import rl as rl
    from kafnets import sklearn as sklearn
    from kafnets import train as train
    from kafnets.words import describe as describe
else:

    def __getattr__(name: str) -> object:
        """What needs more than torch is imported when it is asked for."""
        import importlib

        if name == "describe":
            return importlib.import_module("kafnets.words").describe
        if name in ("autograd", "data", "jax", "keras", "plot", "rl", "sklearn", "train"):
            return importlib.import_module(f"kafnets.{name}")
        raise AttributeError(f"module 'kafnets' has no attribute {name!r}")
