"""Screen results for agents whose first choice is the best arm more often than chance allows.

Before the first feedback of a run its agent knows the problem's card and its own random stream, which both are drawn
apart from the function. Whatever it does, its first choice is the best arm with probability at most
`c = max_rule P(the rule names the best arm)`, over the rules that read the card alone. So over runs on functions drawn
apart, the number of first choices that are best is stochastically at most a sum of Bernoulli variables of
probabilities `c`; the tail of that sum is exact (Poisson-binomial), with Bonferroni's correction over the agents that
are screened, at `LEVEL`.

`c` is not known and estimated, per environment, from its own instances: the largest share of them on which one of these
rules names the best arm: one fixed arm, whichever it is; the arm with the least or largest of a feature; the arms of
least and largest norm, nearest to the centre and farthest from it. The largest of hundreds of shares is too large
rather than too small, and at least one in the number of instances.

It says nothing where one arm is best on all instances (a table, a fixed function: there everybody may know it), on
boxes, where arms are offered by step, and where the optimum is unknown; nor of an agent that waits for a feedback
before it cheats, or takes the second best. A fault that it finds is none proven: read the code, play hold-out seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
from jaxtyping import Bool, Float

from gpbandit_envs.datasets.errors import DataError
from leaderboards.play.build import is_own_env
from leaderboards.play.run import instance_env
from leaderboards.play.spec import RunSpec
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store

LEVEL = 1e-3
"""Probability with which any honest agent among those screened is flagged, at most."""

_INSTANCES = 20  # fewest from which the chance of a task is estimated


@dataclass(frozen=True)
class Screened:
    """What the screen found of an agent.

    Attributes:
        agent: Its label.
        hits: In how many runs its first choice was a best arm.
        runs: How many runs can tell.
        expected: How many hits chance gives on average, at most.
        p: Probability of as many hits or more by chance, at most; corrected for the number of agents.
    """

    agent: str
    hits: int
    runs: int
    expected: float
    p: float

    @property
    def flagged(self) -> bool:
        """Whether that is less than `LEVEL`."""
        return self.p < LEVEL

    def __str__(self) -> str:
        if not self.runs:
            return (
                f"{self.agent}: no run on drawn functions of finite arms, of whose first choice something can be told"
            )
        found = (
            f"{self.agent}: the first choice is a best arm in {self.hits} of {self.runs} runs, by chance in up to "
            f"{self.expected:.1f}; p = {self.p:.2g}"
        )
        return f"{found}, below {LEVEL:g}: read its code, and play it on hold-out seeds" if self.flagged else found


def screen(results: Store) -> list[Screened]:
    """Screen all agents of results, by label; only environments of this project are built, and no agent."""
    choices = first_choices(results)
    instances: dict[str, dict[int, RunEntry]] = {}
    for run, _ in choices:
        instances.setdefault(run.spec.env.key, {})[run.spec.repetition] = run
    chances = {
        env: chance({number: run.spec for number, run in runs.items()})
        for env, runs in instances.items()
        if len({run.data.instance for run in runs.values()}) > 1 or len(runs) == 1  # else it is one function
    }
    by_agent: dict[str, list[tuple[str, bool]]] = {}
    for run in results.entries().values():
        by_agent.setdefault(run.spec.agent.label, [])
    for run, hit in choices:
        by_agent[run.spec.agent.label].append((run.spec.env.key, hit))
    return screened(by_agent, {env: c for env, c in chances.items() if c is not None})


def screened(choices: Mapping[str, Iterable[tuple[str, bool]]], chances: Mapping[str, float]) -> list[Screened]:
    """The verdicts on agents, those with the least p first.

    Args:
        choices: By agent, for each instance the environment and whether the first choice was a best arm.
        chances: By environment, the largest probability of that; where it is unknown or 1 nothing can be told.
    """
    found = []
    for agent, runs in choices.items():
        told = [(chances[env], hit) for env, hit in runs if chances.get(env, 1.0) < 1.0]
        c, hits = np.array([one for one, _ in told]), sum(hit for _, hit in told)
        found.append(Screened(agent, hits, len(told), float(c.sum()), tail(c, hits)))
    corrected = [replace(one, p=min(one.p * len(found), 1.0)) for one in found]
    return sorted(corrected, key=lambda one: one.p)


def tail(chances: Float[np.ndarray, " n"], hits: int) -> float:
    """Probability that at least `hits` of independent events of these probabilities happen."""
    return float(scipy.stats.poisson_binom.sf(hits - 1, chances)) if len(chances) else 1.0


def first_choices(results: Store) -> list[tuple[RunEntry, bool]]:
    """Runs that are done on environments of this project with a known optimum; was the first choice a best arm?

    Of several runs of an agent on one instance, as under several feedback models, the one with the least key: their
    first choices are no two chances.
    """
    by_instance: dict[tuple[str, ...], str] = {}
    for key in sorted(results.done_keys(), reverse=True):
        spec = results.spec(key)
        if is_own_env(spec.env.id):
            by_instance[spec.agent.key, spec.env.key, f"{spec.seed} {spec.repetition}"] = key
    found, traced = [], []
    for key in sorted(by_instance.values()):
        kept = results.kept(key)
        if kept is None:
            traced.append(key)
        elif kept.t[0] == 1 and np.isnan(kept.best_mean):
            found.append((results.entry(key), float(kept.curves["cumulative_regret"][0])))
    found += [(run, float(trace["regret"][0])) for run, trace in results.traces(["regret"], traced)]
    return [(run, regret <= 0.0) for run, regret in found if not np.isnan(regret)]


def chance(specs: Mapping[int, RunSpec]) -> float | None:
    """Largest share of the instances of an environment on which a rule that reads the card alone names a best arm.

    Args:
        specs: A run on each instance, by repetition, of one root seed; further repetitions are drawn if they are few.

    Returns:
        The share; None on boxes, where steps offer some of the arms alone, and without the data.
    """
    first = next(iter(specs.values()))
    members = [spec.member for spec in specs.values()]  # of a family of environments; {} of any other
    further = {r: replace(first, repetition=r, member=members[r % len(members)]) for r in range(_INSTANCES)}
    named = []
    for spec in (further | dict(specs)).values():
        try:
            with instance_env(spec) as (env, problem):
                if not problem.is_finite or problem.contexts:
                    return None
                every = np.arange(problem.n_arms)
                regret = env.regret(every) if getattr(env, "regret_changes", False) else env.optimum - env.mean(every)
                named.append(_named_by_rules(np.asarray(regret) <= 0.0, np.asarray(problem.arms)))
        except (DataError, NotImplementedError):
            return None
    if len({len(one) for one in named}) > 1:
        return None
    return float(np.mean(named, axis=0).max())


def _named_by_rules(best: Bool[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Bool[np.ndarray, " rules"]:
    """Which rules name a best arm: each fixed one, then those of the least and largest of something on the card."""
    arms = arms.reshape(len(arms), -1).astype(np.float64)
    norms, from_centre = (arms**2).sum(axis=1), ((arms - arms.mean(axis=0)) ** 2).sum(axis=1)
    rules = [*arms.argmin(axis=0), *arms.argmax(axis=0), norms.argmin(), norms.argmax()]
    return np.concatenate([best, best[[*rules, from_centre.argmin(), from_centre.argmax()]]])
