"""The protocol, the registry, and the parts from which policies are composed.

The names below are what a policy of one's own builds on; see `docs/guides/agent.md`. Each loads at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpbandit_envs.lazy import lazy_names

if TYPE_CHECKING:
    from agents.core.acquisition import UpperConfidenceBound
    from agents.core.batch_rules import BatchRule
    from agents.core.beliefs import ArmBeliefs, BoxBeliefs, ExactBeliefs
    from agents.core.finite import FiniteArmAgent
    from agents.core.gp_agent import GPAgent
    from agents.core.gp_settings import BandFields, ModelFields
    from agents.core.regret_bounds import ucb_guarantee
    from agents.core.space import BoxAgent, SearchFields
    from agents.core.ucb import UCBAgent
    from agents.core.widths import WidthContext, WidthSchedule

__all__ = [
    "ArmBeliefs",
    "BandFields",
    "BatchRule",
    "BoxAgent",
    "BoxBeliefs",
    "ExactBeliefs",
    "FiniteArmAgent",
    "GPAgent",
    "ModelFields",
    "SearchFields",
    "UCBAgent",
    "UpperConfidenceBound",
    "WidthContext",
    "WidthSchedule",
    "ucb_guarantee",
]

_MODULES = {
    "acquisition": ("UpperConfidenceBound",),
    "batch_rules": ("BatchRule",),
    "beliefs": ("ArmBeliefs", "BoxBeliefs", "ExactBeliefs"),
    "finite": ("FiniteArmAgent",),
    "gp_agent": ("GPAgent",),
    "gp_settings": ("BandFields", "ModelFields"),
    "regret_bounds": ("ucb_guarantee",),
    "space": ("BoxAgent", "SearchFields"),
    "ucb": ("UCBAgent",),
    "widths": ("WidthContext", "WidthSchedule"),
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
