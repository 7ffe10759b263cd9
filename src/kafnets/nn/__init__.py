"""Modules, and what starts, watches and regularizes them. Importing registers KAFs of all kinds."""

from kafnets.nn.activation import Activation as Activation
from kafnets.nn.activation import ByChannel as ByChannel
from kafnets.nn.averaged import Averaged as Averaged
from kafnets.nn.baked import Baked as Baked
from kafnets.nn.baked import bake as bake
from kafnets.nn.biases import initialize_biases as initialize_biases
from kafnets.nn.calibrate import calibrate as calibrate
from kafnets.nn.changes import DictionaryChanges as DictionaryChanges
from kafnets.nn.changes import LayerChange as LayerChange
from kafnets.nn.conversion import Conversion as Conversion
from kafnets.nn.conversion import LayerConversion as LayerConversion
from kafnets.nn.convert import convert as convert
from kafnets.nn.edgewise import EdgewiseKAF as EdgewiseKAF
from kafnets.nn.embedding import KAFEmbedding as KAFEmbedding
from kafnets.nn.embedding import PeriodicEmbedding as PeriodicEmbedding
from kafnets.nn.kaf import KAF as KAF
from kafnets.nn.kaf2d import KAF2D as KAF2D
from kafnets.nn.learned_dictionary import LearnedDictionaryKAF as LearnedDictionaryKAF
from kafnets.nn.monitor import Monitor as Monitor
from kafnets.nn.monitor import monitor as monitor
from kafnets.nn.multi_kaf import MultiKAF as MultiKAF
from kafnets.nn.refine import refine as refine
from kafnets.nn.regularization import distance_from_start as distance_from_start
from kafnets.nn.regularization import param_groups as param_groups
from kafnets.nn.regularization import penalty as penalty
