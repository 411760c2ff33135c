"""Experiments of one's own: ask what to try, tell what came of it, in true units and names."""

from agents.experiment.constraints import constraint, forbid, mixture
from agents.experiment.experiment import Experiment
from agents.experiment.history import Evaluation
from agents.experiment.parameters import log

__all__ = ["Evaluation", "Experiment", "constraint", "forbid", "log", "mixture"]
