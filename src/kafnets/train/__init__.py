"""Supervised training: one loop for everything, and run folders that survive."""

from kafnets.train.evaluation import evaluate as evaluate
from kafnets.train.loop import Progress as Progress
from kafnets.train.loop import Training as Training
from kafnets.train.loop import fit as fit
from kafnets.train.predictor import Predictor as Predictor
from kafnets.train.settings import Settings as Settings
