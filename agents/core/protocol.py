"""The protocol of agents: the methods of a policy, and the records that pass between it and the runner.

One turn of the interaction:

1. The runner calls `select(n, pending)`. The agent returns up to `n` actions, or none to wait for feedback. Selecting
   does not change its beliefs.
2. The runner evaluates the actions; each evaluation has a number, its ticket, from 0 on in order. It passes new
   results to `observe(feedback)`. When results arrive depends on the feedback model, not on the agent.
3. `pending` lists all evaluations without a result, so that pulling one arm several times is no special case.

How many actions the runner requests depends on `Capabilities.batch` and the feedback model:

| `batch` | request | answer |
|---|---|---|
| `"sequential"` | one action | none while an evaluation is pending |
| `"fixed"` | one action, or a whole batch in a batched feedback model | exactly as many |
| `"adaptive"` | all remaining evaluations | its own batch, then none until feedback arrives |

For example, two evaluations of a sequential agent:

    agent.reset(problem, rng)
    agent.select(1, pending)       # array([4]): the runner evaluates arm 4 as ticket 0
    agent.observe(feedback)        # its reward 0.7
    agent.select(1, pending)       # array([9])

Where each step offers only some of the arms, `offer(arms)` comes before every `select`, which is asked for one action.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import wraps
from reprlib import Repr
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args
from weakref import finalize

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee, Sketch
from agents.core.state import digest, restore, save
from gpbandit_envs.arguments import LARGEST
from gpbandit_envs.problem import Problem

Actions = np.ndarray
"""Finite arms: indices, shape `(n,)`, int64. Box: points of the unit cube, shape `(n, d)`, float64."""
Action = int | np.ndarray
"""One action: an index, or a point of shape `(d,)`."""

Domain = Literal["finite", "box"]
Need = Literal["kernel", "noise", "horizon", "norm", "neighbours", "drift"]

PROBLEM_FIELDS: Mapping[Need, str] = {need: need for need in get_args(Need)} | {
    "noise": "noise_std",
    "norm": "norm_bound",
}
"""The field of a problem that states each need."""
_ARGUMENTS: Mapping[Need, tuple[str, ...]] = {
    **{need: (field,) for need, field in PROBLEM_FIELDS.items()},
    "noise": ("noise_std", "lam"),
    "drift": ("eps",),
}
"""The attributes by which an agent states what a problem may leave open."""


@dataclass(frozen=True)
class Capabilities:
    """The problems and feedback models that an agent supports; the harness skips all others and states the reason.

    Attributes:
        domains: `"finite"`, `"box"` or both.
        batch: `"sequential"` (one action, then its feedback), `"fixed"` (batches of any requested size) or
            `"adaptive"` (ends its own batches).
        delayed: Whether it can act while feedback is delayed that it would have waited for.
        needs: Fields that the problem must state unless they are arguments of the agent.
        contexts: Whether it plays where each step offers only some of the arms, of which `Agent.offer` tells it.

    Raises:
        ValueError: for an unknown word, without a domain, or for contexts on boxes alone.
    """

    domains: frozenset[Domain]
    batch: Literal["sequential", "fixed", "adaptive"] = "sequential"
    delayed: bool = False
    needs: frozenset[Need] = frozenset()
    contexts: bool = False

    def __post_init__(self) -> None:
        # A misspelt domain would fit no problem, and `check_agent` would have nothing to try.
        for name, given, known in (("domains", self.domains, Domain), ("needs", self.needs, Need)):
            words: object = given  # what an author wrote, whatever the annotation says
            if not isinstance(words, Set) or not words <= set(get_args(known)):
                raise ValueError(f"{name}: expected a set among {', '.join(get_args(known))}, got {given!r}")
        if not self.domains:
            raise ValueError(f"domains: expected at least one of {', '.join(get_args(Domain))}, got none")
        if self.batch not in ("sequential", "fixed", "adaptive"):
            raise ValueError(f"batch: expected 'sequential', 'fixed' or 'adaptive', got {self.batch!r}")
        if self.contexts and "finite" not in self.domains:
            raise ValueError(f"contexts: expected an agent that plays on arms, got domains {sorted(self.domains)}")


@dataclass(frozen=True)
class Pending:
    """All evaluations without a result, oldest first.

    Attributes:
        tickets: Their numbers, from 0 on in the order in which the runner began them, shape `(p,)`.
        actions: Their actions, shape `(p,)` or `(p, d)`.
    """

    tickets: Int[np.ndarray, " p"]
    actions: Actions

    def __len__(self) -> int:
        return len(self.tickets)

    @classmethod
    def empty(cls, problem: Problem) -> Pending:
        """No pending evaluation on `problem`."""
        shape, dtype = ((0,), np.int64) if problem.is_finite else ((0, problem.dim), np.float64)
        return cls(np.zeros(0, np.int64), np.zeros(shape, dtype))


@dataclass(frozen=True)
class Feedback:
    """New results, in order of arrival.

    Attributes:
        tickets: Numbers of the evaluations, shape `(n,)`.
        actions: Their actions, shape `(n,)` or `(n, d)`.
        rewards: Noisy rewards, shape `(n,)`; NaN exactly where `failed`.
        costs: Cost of each evaluation, shape `(n,)`, unit stated by the environment.
        failed: True where the evaluation gave no reward, shape `(n,)`.
        sds: Standard errors of the rewards, shape `(n,)`, NaN where not known; None for none.
    """

    tickets: Int[np.ndarray, " n"]
    actions: Actions
    rewards: Float[np.ndarray, " n"]
    costs: Float[np.ndarray, " n"]
    failed: Bool[np.ndarray, " n"]
    sds: Float[np.ndarray, " n"] | None = None

    def __post_init__(self) -> None:
        n = len(self.tickets)
        for name in ("actions", "rewards", "costs", "failed"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"{name}: expected {n} entries, one a ticket, got {len(getattr(self, name))}")
        # `count_nonzero` takes a fifth of the time of `not good.all()`.
        for expected, good in (
            ("finite feedback unless failed", (np.abs(self.rewards) <= LARGEST) | self.failed),
            ("NaN where failed", np.isnan(self.rewards) >= self.failed),
        ):
            if np.count_nonzero(good) < n:
                k = int(np.argmin(good))
                size = f", beyond {LARGEST:g}," if np.isfinite(self.rewards[k]) and not self.failed[k] else ""
                raise ValueError(
                    f"rewards: expected {expected}, got {self.rewards[k]}{size} for ticket {self.tickets[k]}"
                )

    def __len__(self) -> int:
        return len(self.tickets)

    def succeeded(self) -> tuple[Actions, Float[np.ndarray, " m"]]:
        """Actions and rewards of the evaluations that did not fail."""
        if np.count_nonzero(self.failed) == 0:
            return self.actions, self.rewards
        return self.actions[~self.failed], self.rewards[~self.failed]

    @classmethod
    def of(cls, tickets: Any, actions: Any, rewards: Any, costs: Any = None) -> Feedback:
        """Feedback without failures from array-likes, one entry an evaluation; costs default to 1 each.

        Raises:
            ValueError: if an argument is a single number, or they differ in length.
        """
        for name, given in (("tickets", tickets), ("actions", actions), ("rewards", rewards)):
            if np.ndim(given) == 0:
                raise ValueError(f"{name}: expected one entry for each evaluation, as in [{given!r}], got {given!r}")
        actions = np.asarray(actions)
        rewards = np.asarray(rewards, dtype=np.float64)
        costs = np.ones(len(rewards)) if costs is None else np.asarray(costs, dtype=np.float64)
        return cls(np.asarray(tickets, np.int64), actions, rewards, costs, np.zeros(len(rewards), bool))


_built: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}
_short = Repr()
_short.maxother = _short.maxstring = 60


def _checked_reset(reset: Callable[..., None]) -> Callable[..., None]:
    @wraps(reset)
    def checked(self: Agent, problem: Problem, rng: np.random.Generator) -> None:
        given: object = problem  # whatever the annotation says
        if not isinstance(given, Problem):
            hint = "; gpbandit_envs.problem_of(env) gives that of an environment" if hasattr(given, "step") else ""
            raise TypeError(f"problem: expected a gpbandit_envs.problem.Problem, got {type(given).__name__}{hint}")
        given = rng
        if not isinstance(given, np.random.Generator):
            raise TypeError(f"rng: expected a generator, such as numpy.random.default_rng(0), got {given!r}")
        reset(self, problem, rng)

    return checked


class Agent(ABC):
    """A bandit policy.

    A subclass states its `capabilities` and implements the abstract methods. `reset` starts an episode; all randomness
    comes from the generator it is given. The state of an episode consists of the agent's attributes, which must be
    picklable: `state_dict` saves them and `load_state_dict` restores them, and a restored agent continues bit for bit.

    Attributes:
        capabilities: The problems and feedback models that the agent supports.
        not_saved: Names of the attributes that `state_dict` leaves out: those that `__init__` and `reset` set and that
            nothing changes afterwards, such as large arrays computed from the arms. An agent that keeps its problem as
            `self.problem` saves neither it nor its arms and kernel.
        policy_family: Name of a group of related policies, which charts draw in one hue; "" for none. See
            `leaderboards.show.palette` for the families that have a hue of their own.
        side_by_side: Whether `agents.make_vec` plays many repetitions of it at once; a class that derives from such a
            one says so itself, or is not.
    """

    capabilities: ClassVar[Capabilities]
    not_saved: ClassVar[frozenset[str]] = frozenset({"problem"})
    policy_family: ClassVar[str] = ""
    side_by_side: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give `reset`, which everyone calls by hand once, errors that say what was expected."""
        super().__init_subclass__(**kwargs)
        if "reset" in vars(cls):
            cls.reset = _checked_reset(cls.reset)  # type: ignore[method-assign]

    if not TYPE_CHECKING:  # what any attribute may be would hide a wrong one from the type checker

        def __new__(cls, *args: Any, **kwargs: Any) -> Agent:
            agent = super().__new__(cls)
            _built[id(agent)] = (args, kwargs)
            finalize(agent, _built.pop, id(agent), None).atexit = False
            return agent

        def __getattr__(self, name: str) -> Any:
            begun = "" if "problem" in vars(self) else "; has reset(problem, rng) been called, which begins an episode?"
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{begun}")

    def __repr__(self) -> str:
        """The class and the arguments it was built with; those of a copy are not known."""
        args, kwargs = _built.get(id(self), ((), {}))
        shown = [_short.repr(value) for value in args]
        shown += [f"{name}={_short.repr(value)}" for name, value in kwargs.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    @abstractmethod
    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        """Forget everything and prepare for an episode on `problem`.

        Raises:
            ValueError: if neither the problem nor the agent's arguments state something that it needs.
        """

    @abstractmethod
    def select(self, n: int, pending: Pending) -> Actions:
        """Choose up to `n >= 1` actions, or none to wait for feedback, without changing any beliefs."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> None:
        """Update the beliefs with new feedback; no ticket comes twice."""

    @abstractmethod
    def recommend(self) -> Action:
        """The action to deploy after the feedback so far; its regret is the inference regret."""

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        """Until the next call select and recommend among these arms alone; called after `reset`, by default of all.

        On a problem with contexts it is called before the first `select` and after each evaluation, with the arms that
        the coming step offers. An agent implements it together with `Capabilities(contexts=True)`; offered all arms,
        it plays as if it had not been called.

        Args:
            arms: Distinct indices in increasing order, at least one.

        Raises:
            TypeError: if the policy always selects among all arms.
        """
        del arms
        raise TypeError(f"offer: {type(self).__name__} selects among all arms; it declares no contexts")

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray] | None:
        """Posterior mean and half-width of the confidence band at `X` `(n, d)`, each `(n,)`; None without a model."""
        del X
        return None

    def band_guarantee(self) -> BandGuarantee:
        """The coverage guarantee of the band of `predict` in this episode; called after `reset`."""
        return BandGuarantee()

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        """The proven bound on the policy's cumulative regret on a problem; may be called before `reset`."""
        del inputs
        return RegretGuarantee()

    def sketch(self) -> Sketch | None:
        """The sketched posterior that the agent acts on; None if it has none. Called after `reset`."""
        return None

    def arguments_state(self) -> frozenset[Need]:
        """The fields of `Capabilities.needs` that the agent's arguments state, so that the problem need not.

        By default these are the needs whose attribute, `kernel`, `lam` or `noise_std`, `horizon`, `norm_bound` or
        `neighbours`, is set to something other than None or 0. A `lam` that follows from the problem's noise, which is
        a mapping, does not state it.
        """
        given = {name: getattr(self, name, None) for names in _ARGUMENTS.values() for name in names}
        if isinstance(given["lam"], Mapping):
            given["lam"] = None
        return frozenset(need for need, names in _ARGUMENTS.items() if any(given[name] for name in names))

    def diagnostics(self) -> Mapping[str, float]:
        """Numbers about the current state that are cheap to compute: width, information gain, dictionary size, ...

        Row t of a trace has those after evaluation t, with which choice t + 1 is made.
        """
        return {}

    def state_dict(self) -> dict[str, Any]:
        """The state of the episode, picklable: by default all attributes but those in `not_saved`, as bytes.

        Raises:
            TypeError: if an attribute cannot be pickled.
        """
        return {"attributes": save(self), "problem": digest(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state saved by `state_dict`, after `reset` on the same problem.

        Raises:
            ValueError: if it was saved on another problem.
        """
        if state["problem"] != digest(self):
            raise ValueError(
                "state: expected one that was saved on a problem with the same arms, kernel, noise, norm bound and "
                "prior mean as the present one, got that of another problem"
            )
        restore(self, state["attributes"])
