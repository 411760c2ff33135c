"""Does it replicate? Papers as executable claims: their experiments as suites, their statements as checks."""

from leaderboards.claims.claim import Checked, Claim, Verdict
from leaderboards.claims.experiments import EXPERIMENTS, Experiment, experiment

__all__ = ["EXPERIMENTS", "Checked", "Claim", "Experiment", "Verdict", "experiment"]
