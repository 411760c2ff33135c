"""What an agent is: the protocol that every policy obeys and the records that pass between it and the runner.

One turn of the interaction:

1. The runner calls `select(n, pending)`: the agent answers with up to `n` actions, or with none, which means
   "nothing more until I have seen feedback". Selecting leaves the agent's beliefs as they are.
2. The runner evaluates the actions, each under a ticket of its own, and hands back what has arrived through
   `observe(feedback)`; when that is depends on the feedback regime, not on the agent.
3. `pending` always lists every open ticket, so pulling one arm many times is no special case.

How many actions the runner asks for depends on `Capabilities.batch` and the regime. An *adaptive* agent is asked for
all evaluations that are left and answers with its batch, or with none once its batch is closed. A *sequential* agent is
asked for one at a time and answers with none while a ticket is open. A *fixed* agent always answers with exactly `n`
actions: one where feedback comes on request, the batch size in a batched regime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee, Sketch
from agents.core.state import restore, save
from gpbandit_envs.problem import Problem

__all__ = ["Action", "Actions", "Agent", "Capabilities", "Feedback", "Pending"]

Actions = np.ndarray
"""Finite arms: indices, shape `(n,)`, int64. Box: points of the unit cube, shape `(n, d)`, float64."""
Action = int | np.ndarray
"""One action: an index, or a point of shape `(d,)`."""

Domain = Literal["finite", "box"]
Need = Literal["kernel", "noise", "horizon", "norm", "neighbours"]

_ARGUMENTS: Mapping[Need, tuple[str, ...]] = {
    "kernel": ("kernel",),
    "noise": ("noise_std", "lam"),
    "horizon": ("horizon",),
    "norm": ("norm_bound",),
    "neighbours": ("neighbours",),
}
"""The attributes by which an agent states what a problem may leave open."""


@dataclass(frozen=True)
class Capabilities:
    """What an agent can play on; the harness skips, with the reason, what does not fit.

    Attributes:
        domains: `"finite"`, `"box"` or both.
        batch: `"sequential"` (one action, then its feedback), `"fixed"` (fills any batch it is asked for) or
            `"adaptive"` (ends its own batches).
        delayed: Whether it can act while tickets are open that it did not choose to leave open.
        needs: What the problem card must state unless the agent was given it as an argument.

    Raises:
        ValueError: if a word is none of these, or there is no domain.
    """

    domains: frozenset[Domain]
    batch: Literal["sequential", "fixed", "adaptive"] = "sequential"
    delayed: bool = False
    needs: frozenset[Need] = frozenset()

    def __post_init__(self) -> None:
        # A misspelt domain would fit no problem, and be found right by a check that has nothing to try.
        for name, given, known in (("domains", self.domains, Domain), ("needs", self.needs, Need)):
            words: object = given  # what an author wrote, whatever the annotation says
            if not isinstance(words, Set) or not words <= set(get_args(known)):
                raise ValueError(f"{name}: expected a set among {', '.join(get_args(known))}, got {given!r}")
        if not self.domains:
            raise ValueError(f"domains: expected at least one of {', '.join(get_args(Domain))}, got none")
        if self.batch not in ("sequential", "fixed", "adaptive"):
            raise ValueError(f"batch: expected 'sequential', 'fixed' or 'adaptive', got {self.batch!r}")


@dataclass(frozen=True)
class Pending:
    """Every open ticket, oldest first.

    Attributes:
        tickets: Numbers given by the runner, shape `(p,)`.
        actions: The action of each, shape `(p,)` or `(p, d)`.
    """

    tickets: Int[np.ndarray, " p"]
    actions: Actions

    def __len__(self) -> int:
        return len(self.tickets)

    @classmethod
    def empty(cls, problem: Problem) -> Pending:
        """No open ticket on `problem`."""
        shape, dtype = ((0,), np.int64) if problem.is_finite else ((0, problem.dim), np.float64)
        return cls(np.zeros(0, np.int64), np.zeros(shape, dtype))


@dataclass(frozen=True)
class Feedback:
    """What has newly arrived, in order of arrival.

    Attributes:
        tickets: Which evaluations these are, shape `(n,)`.
        actions: Their actions, shape `(n,)` or `(n, d)`.
        rewards: Noisy rewards, shape `(n,)`; NaN exactly where `failed`.
        costs: Cost of each evaluation, shape `(n,)`, unit stated by the environment.
        failed: True where the evaluation gave no reward, shape `(n,)`.
    """

    tickets: Int[np.ndarray, " n"]
    actions: Actions
    rewards: Float[np.ndarray, " n"]
    costs: Float[np.ndarray, " n"]
    failed: Bool[np.ndarray, " n"]

    def __post_init__(self) -> None:
        n = len(self.tickets)
        for name in ("actions", "rewards", "costs", "failed"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"{name}: expected {n} entries, one a ticket, got {len(getattr(self, name))}")
        bad = ~np.isfinite(self.rewards) & ~self.failed
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"rewards: expected finite feedback unless failed, got {self.rewards[k]} for ticket {self.tickets[k]}"
            )
        bad = self.failed & ~np.isnan(self.rewards)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise ValueError(f"rewards: expected NaN where failed, got {self.rewards[k]} for ticket {self.tickets[k]}")

    def __len__(self) -> int:
        return len(self.tickets)

    @classmethod
    def of(cls, tickets: Any, actions: Actions, rewards: Any, costs: Any = None) -> Feedback:
        """Feedback without failures from array-likes; costs default to 1 each."""
        rewards = np.asarray(rewards, dtype=np.float64)
        costs = np.ones(len(rewards)) if costs is None else np.asarray(costs, dtype=np.float64)
        return cls(np.asarray(tickets, np.int64), actions, rewards, costs, np.zeros(len(rewards), bool))


class Agent(ABC):
    """A bandit policy.

    A subclass states its `capabilities` and implements the abstract methods. `reset` starts an episode; all randomness
    comes from the generator it is given. The state of an episode consists of the agent's attributes, which must be
    picklable: `state_dict` saves them and `load_state_dict` restores them, and a restored agent continues bit for bit.

    Attributes:
        capabilities: On which problems, and under which feedback, the agent can play.
        not_saved: Names of the attributes that `state_dict` leaves out: those that `__init__` and `reset` set and that
            nothing changes afterwards, such as large arrays computed from the arms. An agent that keeps its problem as
            `self.problem` saves neither it nor its arms and kernel.
        policy_family: Name of a group of related policies, which charts draw in one hue; "" for none. See
            `leaderboards.show.palette` for the families that have a hue of their own.
    """

    capabilities: ClassVar[Capabilities]
    not_saved: ClassVar[frozenset[str]] = frozenset({"problem"})
    policy_family: ClassVar[str] = ""

    @abstractmethod
    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        """Forget everything and prepare for an episode on `problem`.

        Raises:
            ValueError: if the agent needs something that neither the card nor its arguments state.
        """

    @abstractmethod
    def select(self, n: int, pending: Pending) -> Actions:
        """Choose up to `n >= 1` actions; none means "wait for feedback". Beliefs stay as they are."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> None:
        """Take in feedback that is new; never the same ticket twice."""

    @abstractmethod
    def recommend(self) -> Action:
        """The action the agent would deploy now; scored as inference regret."""

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray] | None:
        """Posterior mean and half-width of the confidence band at `X` `(n, d)`, each `(n,)`; None without a model."""
        del X
        return None

    def band_guarantee(self) -> BandGuarantee:
        """How far the band of `predict` is meant to hold in this episode; asked after `reset`."""
        return BandGuarantee()

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        """What is proven of the policy's cumulative regret on a problem; also asked before any `reset`."""
        del inputs
        return RegretGuarantee()

    def sketch(self) -> Sketch | None:
        """The sketched posterior that the agent acts on; None if it has none. Asked after `reset`."""
        return None

    def arguments_state(self) -> frozenset[Need]:
        """Those of `Capabilities.needs` that the agent's arguments state, so that the problem need not.

        By default these are the needs whose attribute, `kernel`, `lam` or `noise_std`, `horizon`, `norm_bound` or
        `neighbours`, is set to something other than None or 0.
        """
        return frozenset(need for need, names in _ARGUMENTS.items() if any(getattr(self, name, None) for name in names))

    def diagnostics(self) -> Mapping[str, float]:
        """Cheap plain numbers about the current state: width, information gain, dictionary size, ..."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The state of the episode, picklable: by default all attributes but those in `not_saved`, as bytes.

        Raises:
            TypeError: if an attribute cannot be pickled.
        """
        return {"attributes": save(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state saved by `state_dict`, after `reset` on the same problem.

        Raises:
            ValueError: if it was saved on another problem.
        """
        restore(self, state["attributes"])
