"""Bandit policies behind one protocol: `agents.make(id, **kwargs)`, `agents.register(id, entry_point, kwargs)`."""

from agents.core.check import AgentCheckError, check_agent
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.registry import AgentSpec, make, register, registered, spec

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "AgentCheckError",
    "AgentSpec",
    "Capabilities",
    "Feedback",
    "Pending",
    "check_agent",
    "make",
    "register",
    "registered",
    "spec",
]

for _id, _entry_point in {
    "Uniform": "agents.baselines.uniform:Uniform",
    "EpsGreedy": "agents.baselines.eps_greedy:EpsGreedy",
    "GP-UCB": "agents.exact.gp_ucb:GPUCB",
    "GP-AUCB": "agents.exact.gp_aucb:GPAUCB",
    "BBKB": "agents.sketched.bbkb:BBKB",
}.items():
    register(_id, _entry_point)
