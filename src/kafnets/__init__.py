"""Neural networks whose activation functions are learned.

Names are imported when they are first asked for, so that ``import kafnets.jax`` does not import torch.
"""

import importlib
from typing import TYPE_CHECKING

from kafnets.coexistence import keep_triton_out

__version__ = "0.1.0"

_MODULES = (
    "autograd",
    "data",
    "dictionaries",
    "functional",
    "jax",
    "keras",
    "nn",
    "plot",
    "rl",
    "sklearn",
    "starts",
    "train",
    "zoo",
)

_NAMES = {
    "kafnets.expansion": ("Dictionary", "Expansion"),
    "kafnets.fixed_functions": ("Base",),
    "kafnets.kernels": ("Gaussian", "Kernel", "Periodic", "Polynomial", "ReLUKernel", "Softplus"),
    "kafnets.starts": ("Initializer", "Normal", "Ridge"),
    "kafnets.networks": ("cnn", "edgewise_mlp", "mlp"),
    "kafnets.nn": (
        "Activation",
        "ByChannel",
        "Calibration",
        "EdgewiseKAF",
        "KAF",
        "KAF2D",
        "LayerCalibration",
        "LayerRefinement",
        "Refinement",
        "calibrate",
        "Monitor",
        "distance_from_start",
        "initialize_biases",
        "monitor",
        "param_groups",
        "penalty",
        "refine",
    ),
    "kafnets.ops": ("Backend", "backend", "set_backend", "use_backend"),
    "kafnets.registry": ("Facts", "create", "names", "register"),
    "kafnets.train": ("Predictor",),
    "kafnets.words": ("describe",),
    "kafnets.zoo": (
        "APL",
        "PAF",
        "PELU",
        "SAF",
        "BetaSwish",
        "CReLU",
        "GeneralizedTanh",
        "Hermite",
        "LpMaxout",
        "LpUnit",
        "Maxout",
        "MultiBias",
        "NetworkInNetwork",
        "NoisyHardSigmoid",
        "NoisyHardTanh",
        "OrderStatistic",
        "PReLU",
        "SReLU",
        "SoftMaxout",
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOMES)]

keep_triton_out()

if TYPE_CHECKING:
    from kafnets import autograd as autograd
    from kafnets import data as data
    from kafnets import dictionaries as dictionaries
    from kafnets import functional as functional
    from kafnets import jax as jax
    from kafnets import keras as keras
    from kafnets import nn as nn
    from kafnets import plot as plot
    from kafnets import rl as rl
    from kafnets import sklearn as sklearn
    from kafnets import starts as starts
    from kafnets import train as train
    from kafnets import zoo as zoo
    from kafnets.expansion import Dictionary as Dictionary
    from kafnets.expansion import Expansion as Expansion
    from kafnets.fixed_functions import Base as Base
    from kafnets.kernels import Gaussian as Gaussian
    from kafnets.kernels import Kernel as Kernel
    from kafnets.kernels import Periodic as Periodic
    from kafnets.kernels import Polynomial as Polynomial
    from kafnets.kernels import ReLUKernel as ReLUKernel
    from kafnets.kernels import Softplus as Softplus
    from kafnets.networks import cnn as cnn
    from kafnets.networks import edgewise_mlp as edgewise_mlp
    from kafnets.networks import mlp as mlp
    from kafnets.nn import KAF as KAF
    from kafnets.nn import KAF2D as KAF2D
    from kafnets.nn import Activation as Activation
    from kafnets.nn import ByChannel as ByChannel
    from kafnets.nn import Calibration as Calibration
    from kafnets.nn import EdgewiseKAF as EdgewiseKAF
    from kafnets.nn import LayerCalibration as LayerCalibration
    from kafnets.nn import LayerRefinement as LayerRefinement
    from kafnets.nn import Monitor as Monitor
    from kafnets.nn import Refinement as Refinement
    from kafnets.nn import calibrate as calibrate
    from kafnets.nn import distance_from_start as distance_from_start
    from kafnets.nn import initialize_biases as initialize_biases
    from kafnets.nn import monitor as monitor
    from kafnets.nn import param_groups as param_groups
    from kafnets.nn import penalty as penalty
    from kafnets.nn import refine as refine
    from kafnets.ops import Backend as Backend
    from kafnets.ops import backend as backend
    from kafnets.ops import set_backend as set_backend
    from kafnets.ops import use_backend as use_backend
    from kafnets.registry import Facts as Facts
    from kafnets.registry import create as create
    from kafnets.registry import names as names
    from kafnets.registry import register as register
    from kafnets.starts import Initializer as Initializer
    from kafnets.starts import Normal as Normal
    from kafnets.starts import Ridge as Ridge
    from kafnets.train import Predictor as Predictor
    from kafnets.words import describe as describe
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
else:

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = getattr(importlib.import_module(_HOMES[name]), name)
            globals()[name] = value  # found at once the next time
            return value
        if name in _MODULES:
            return importlib.import_module(f"kafnets.{name}")
        raise AttributeError(f"module 'kafnets' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*globals(), *_HOMES, *_MODULES])
