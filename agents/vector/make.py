"""`make_vec`: vectorised implementations where there are any, all other policies in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.core.protocol import Agent
from agents.core.registry import make
from agents.vector.lockstep import Lockstep
from agents.vector.protocol import VectorAgent

__all__ = ["make_vec"]


def make_vec(id: str, **kwargs: Any) -> VectorAgent:
    """The agent `id` over many repetitions of one problem on finite arms; `reset(problem, rngs)` says how many.

    Uniform, EpsGreedy, GP-UCB, GP-BUCB, GP-AUCB, EC-GP-UCB, RGP-UCB and IRGP-UCB have vectorised implementations; any
    other agent runs as single agents side by side.

    Raises:
        ValueError: for an unknown id or a bad value.
        TypeError: for an unknown keyword; the message lists those that exist.
    """

    def single() -> Agent:
        return make(id, **kwargs)

    return _vectorised(single)


def _vectorised(single: Callable[[], Agent]) -> VectorAgent:
    # Imported here, so that `import agents` stays light.
    from agents.baselines.eps_greedy import EpsGreedy
    from agents.baselines.uniform import Uniform
    from agents.core.ucb import UCBAgent
    from agents.exact.ec_gp_ucb import ECGPUCB
    from agents.exact.gp_aucb import GPAUCB
    from agents.exact.gp_bucb import GPBUCB
    from agents.exact.gp_ucb import GPUCB
    from agents.exact.irgp_ucb import IRGPUCB
    from agents.exact.naive_batches import NRBUCB, NTBUCB
    from agents.exact.rgp_ucb import RobustGPUCB
    from agents.few_batches.bpe import BPE
    from agents.vector.baselines import VectorEpsGreedy, VectorUniform
    from agents.vector.ucb import VectorUCB

    policy = single()
    if type(policy) is Uniform:
        return VectorUniform()
    if type(policy) is EpsGreedy:
        return VectorEpsGreedy(policy)
    if type(policy) in (GPUCB, GPBUCB, GPAUCB, ECGPUCB, RobustGPUCB, IRGPUCB):
        assert isinstance(policy, UCBAgent)
        if VectorUCB.covers(policy):
            return VectorUCB(policy)
    # These plan whole batches: with A = 1,000 and T = 300 runs take a quarter to two thirds of the time side by side.
    return Lockstep(single, pays=isinstance(policy, NRBUCB | NTBUCB | BPE))
