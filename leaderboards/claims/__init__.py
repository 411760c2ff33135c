"""Papers as executable claims: their experiments as suites, their statements as checks with a verdict."""

from leaderboards.claims.claim import Checked, Claim, Verdict
from leaderboards.claims.experiments import EXPERIMENTS, Experiment, experiment

__all__ = ["EXPERIMENTS", "Checked", "Claim", "Experiment", "Verdict", "experiment"]
