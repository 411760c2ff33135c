"""What an agent did on a task, in one sentence: the causes of `leaderboards.score.causes` in words."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from agents import Agent
from agents.core.ucb import UCBAgent
from leaderboards.audit.kept import kept_audits
from leaderboards.play.build import loaded_agent
from leaderboards.play.spec import Ref
from leaderboards.score.causes import EXPLORES, Causes, Decisions, Exploration, StatedWidth, Told, Traps, find_causes
from leaderboards.score.instances import Instance
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import REFERENCES, Summary
from leaderboards.show.format import number
from leaderboards.show.instances import built_agent, first_instance
from leaderboards.store.store import StoreView

__all__ = ["Why", "sentence"]

_EXPLORES = "pure exploration"  # family of policies whose pulls do not look at rewards
_log = logging.getLogger("gpbandit")


class Why:
    """What the agents of a folder did on its tasks.

    Args:
        summary: The folder, reduced.
        view: The folder, for the audits of its runs.
        instances: The first instance of each task, as far as they are at hand: an agent that never left exploration
            states its width on it. With None they are built where they are needed.
    """

    def __init__(self, summary: Summary, view: StoreView, instances: Mapping[str, Instance] | None = None) -> None:
        self._summary, self._view = summary, view
        self._builds = instances is None
        self._instances: dict[str, Instance | None] = dict(instances or {})
        self._found: dict[tuple[str, str], Causes | None] = {}
        self._known: dict[str, Told] = {}  # by key of the agent

    def causes(self, task: str, agent: str) -> Causes | None:
        """The causes of an agent's score on a task; None if it has no finished run there."""
        if (task, agent) not in self._found:
            scores = self._summary.scores.get((task, agent))
            self._found[task, agent] = None if scores is None else self._causes(task, agent)
        return self._found[task, agent]

    def sentence(self, task: str, agent: str) -> str:
        """The same in words; "" where nothing is known."""
        found = self.causes(task, agent)
        return "" if found is None else sentence(found)

    def _causes(self, task: str, agent: str) -> Causes:
        about, ref = self._summary.tasks[task], self._summary.agents[agent]
        scores, reference = self._summary.scores[task, agent], self._summary.reference(task)
        uniform = None if reference is None else self._summary.scores[task, reference]
        audits = list(kept_audits(self._view, self._keys.get((task, agent), ())).values())
        told = self._told(ref)
        found = find_causes(scores, about, told, audits, uniform)
        if found.exploration is None or told.explores_only or (instance := self._instance(task)) is None:
            return found
        n_arms = instance.problem.n_arms if instance.problem.is_finite else None
        told = replace(told, n_arms=n_arms, stated=_stated_width(ref, instance, about.horizon))
        return find_causes(scores, about, told, audits, uniform)

    def _instance(self, task: str) -> Instance | None:
        """The first instance of a task; None where it is not at hand, or cannot be built."""
        if task not in self._instances and self._builds:
            try:
                self._instances[task] = first_instance(self._summary, task)
            except Exception as error:
                # As where its data are not in the cache.
                _log.info("%s cannot be built again: %s", task, error)
                self._instances[task] = None
        return self._instances.get(task)

    def _told(self, ref: Ref) -> Told:
        if ref.key not in self._known:
            self._known[ref.key] = _told(ref)
        return self._known[ref.key]

    @functools.cached_property
    def _keys(self) -> dict[tuple[str, str], list[str]]:
        runs = self._summary.runs
        done = runs[runs["status"] == "done"]
        found: dict[tuple[str, str], list[str]] = {}
        for key, task, agent in zip(done.index, done["task"], done["agent"]):
            found.setdefault((task, agent), []).append(str(key))
        return found


def sentence(found: Causes) -> str:
    """Causes in one sentence: decisions, exploration, traps, what was told; and what came of it if that is none."""
    text = "; ".join(filter(None, _clauses(found)))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _clauses(found: Causes) -> Iterator[str]:
    if found.decisions is not None:
        yield _decisions_text(found.decisions)
    if found.exploration is not None:
        yield _exploration_text(found.exploration, found.n)
    if found.traps is not None:
        yield _traps_text(found.traps, found.n)
    if found.exploration is None and found.traps is None:
        yield _course_text(found)
    if found.told_wrong:
        told = f"told {' and '.join(_wrong_text(name, size) for name, size in found.told_wrong.items())}"
        yield told + (
            f", which the data refuted in {found.refuted} of {found.audited} audited repetitions"
            if found.refuted
            else ""
        )


def _decisions_text(found: Decisions) -> str:
    T = f"{found.evaluations:,} evaluations"
    if found.batches is None:
        return f"results came late ({found.feedback})"
    decisions = f"{found.batches:,.0f} decisions in {T}"
    if found.feedback:
        return f"results came in {found.feedback}: {decisions}"
    length = found.evaluations / found.batches
    return f"in batches of {f'{length:.0f}' if length == round(length) else f'{length:.1f} on average'}: {decisions}"


def _exploration_text(found: Exploration, n: int) -> str:
    text = f"its second half cost {_cost(found.cost)}{_of(found.repetitions, n)}"
    if found.arms is not None:
        text += f", at {found.arms:.0f} different arms"
        text += "" if found.uniform_arms is None else f" where uniform draws reach {found.uniform_arms:.0f}"
    if found.is_meant:
        return f"{text}: it explores only, as it is meant to"
    # Far above it, choices were worse than uniform ones: as of a policy that looks too widely, or at the wrong places.
    never = "it never left exploration" if found.cost.estimate <= 2 - EXPLORES else "it came to prefer no better arms"
    text += f": {never}"
    if found.band is not None:
        text += f", its band \N{PLUS-MINUS SIGN}{number(found.band.half_width)} at the end, of which "
        text += f"{number(found.band.required)} would have held"
    elif found.stated is not None:
        text += f", its width at the end {found.stated.width:.3g} standard deviations"
        if found.stated.batch_ratio > 1:
            text += f", {found.stated.batch_ratio:.3g} times what it is without batches"
    return text


def _traps_text(found: Traps, n: int) -> str:
    where = "one action alone, at" if found.is_alone else "with one and the same regret,"
    return (
        f"trapped{_of(found.repetitions, n)}: from evaluation {found.start:,} on {where} {found.loss:.2g} of what a "
        f"uniform draw costs, {found.share:.0%} of all its regret"
    )


def _course_text(found: Causes) -> str:
    if found.settled_from is not None and 2 * found.settled > found.n:
        return f"from evaluation {found.settled_from:,} on without regret{_of(found.settled, found.n)}"
    return "" if found.cost is None else f"its second half cost {_cost(found.cost)}"


def _wrong_text(name: str, size: float) -> str:
    if name == "sup":
        return f"a kernel that the function is off by up to {size:g}"
    if name == "corruption":
        return f"nothing of feedback that is off by up to {size:g}"
    what = {"norm": "bound on the norm"}.get(name, name)
    return f"a {what} {size:.3g} times the true one"


def _of(k: int, n: int) -> str:
    return "" if k == n else f" in {k} of {n} repetitions"


def _cost(x: Interval) -> str:
    if x.estimate < 0.005:
        return "less than 0.01 of uniform draws"
    text = f"{x.estimate:.2f} of uniform draws"
    return f"{text} ({max(x.low, 0):.2f} \N{EN DASH} {x.high:.2f})" if x.is_known else text


def _told(ref: Ref) -> Told:
    """What an agent is told of a problem; nothing is known of one that is not loaded."""
    built: Any = loaded_agent(ref.id)
    needs = frozenset(getattr(getattr(built, "capabilities", None), "needs", ()))
    explores_only = ref.id in REFERENCES or getattr(built, "policy_family", "") == _EXPLORES
    if not explores_only and getattr(getattr(built_agent(ref), "schedule", None), "assumes", None) == "norm":
        needs |= {"norm"}  # its width grows with the bound
    return Told(needs, explores_only)


def _stated_width(ref: Ref, instance: Instance, horizon: int) -> StatedWidth | None:
    """The width that a UCB policy states for the end, where it follows from the number of evaluations alone."""
    agent: Agent | None = built_agent(ref)
    # A policy with a rule of its own for the width, as GP-UCB-SDF has one, uses another than its schedule says.
    if not isinstance(agent, UCBAgent) or type(agent).next_width is not UCBAgent.next_width:
        return None
    if agent.schedule.depends_on_pulls:
        return None
    try:
        agent.reset(instance.problem, np.random.default_rng(0))
        context = replace(agent.width_context(), t=horizon)
        width, alone = (float(agent.schedule(replace(context, batch_ratio=C))) for C in (context.batch_ratio, 1.0))
        return StatedWidth(width, width / alone if alone else 1.0)
    except Exception as error:
        # As where a theorem's width on this instance has no bound that it needs.
        _log.info("%s states no width: %s", ref.label, error)
        return None
