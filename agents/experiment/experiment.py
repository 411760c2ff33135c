"""Experiments of one's own, by asking and telling, in true units and names.

`ask` makes a copy of the policy that knows all that has been told, lets it choose around the points that are open, and
keeps the copy; `tell` notes what came of a point. This is no `agents.turns`: there each action is evaluated before the
next, in the order chosen, while a person tells points in any order, withdraws some, and tells others that nobody asked.

Beside this file: `setup`, what an experiment begins with; `parameters`, `constraints` and `candidates`, what can be
tried; `region`, what constraints leave of ranges, drawn from by `polytope` and searched by `feasible`; `goals`, what is
wanted; `several` and `hypervolume`, the choice where there are several outcomes; `history`, what was tried and what
came of it; `sheets`, plates as tables; `leave_one_out`, whether to believe the model; `outlook`, how good the best is
and may become; `plot`; `file`, what is saved.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from jaxtyping import Bool

from agents.core.protocol import Action, Agent, Feedback, Pending
from agents.core.space import space_of
from agents.experiment import file
from agents.experiment.candidates import Candidates, Table, as_frame, points_in
from agents.experiment.feasible import hold_to
from agents.experiment.goals import Goal, as_goals
from agents.experiment.history import Evaluation, History, Outcomes, as_outcome, row_named
from agents.experiment.outlook import Beliefs, Outlook, Stop, as_level, look, stop_of
from agents.experiment.parameters import Parameters, Point, plain
from agents.experiment.region import Region
from agents.experiment.setup import DEFAULT, DEFAULT_AGENT, as_agent, as_choices, as_columns, as_name, begin
from agents.experiment.several import SeveralOutcomes
from agents.experiment.sheets import Plate, read_sheet, rows_of
from agents.learned.base import LearnedAgent, Mixture
from agents.learned.gp_bucb import MAPBUCB
from gpbandit_envs.arguments import as_count, as_truth, as_word, did_you_mean, positive_number, shown
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.kernel_specs import as_kernel
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from agents.experiment.leave_one_out import Check

_NEAR = 0.01  # of the range in every coordinate: as close to a failed point of a box, nothing is proposed
_MOST_SEED = 2**64 - 1  # of one word; dates and hashes are seeds
_REPLACEMENTS = 1_024  # points of a box among which that for one that is not available is chosen
_DRAWS, _MOST_DRAWS = 20, 20_000  # for each point where they are few, of which hardly one is then missed
_BATCHES = f"{DEFAULT} goes on while points are open"

OnFailure = Literal["avoid", "worst"]


class Experiment:
    """An experiment in which each evaluation costs: ask what to try, try it, tell what came of it.

        lab = agents.Experiment({"temperature": (20, 120), "rate": agents.log(1e-4, 1), "base": ["KOAc", "CsOPiv"]})
        point = lab.ask()          # {'temperature': 83.12, 'rate': 0.004127, 'base': 'KOAc'}
        lab.tell(point, 0.83)
        lab.save("lab.json")

    Outcomes are told to the policy at the next `ask`, all at once. Open points, asked and not told, are known to it:
    policies that act while evaluations are open take them into account, others say that they wait.

    A failed evaluation gives the policy no number, unless `on_failure="worst"`. On a table the candidate is never
    proposed again. On ranges nothing is proposed that is within 1 % of the range of it in every number and has the same
    categories.

    A point is proposed once, unless `repeats`. Where a policy proposes what is not available, and cannot be told so
    (`Agent.offer`), the available candidate of largest upper bound of its own `predict` takes the place, or a random
    one if it has no model; on ranges the best of random points does.

    Args:
        parameters: What can be set. A dict of ranges: `(low, high)` for any number between, `agents.log(low, high)`,
            `range(low, high + 1)` for integers, a list or an array of numbers, or a range in larger steps, for these
            levels, a list of text for categories. Or a table of candidates, one a row: a DataFrame, the path of a CSV
            file, a list of dicts; its columns are the parameters, and a column named like the outcome holds what is
            known already. Each row without an outcome is one to propose, so that a table of past experiments alone is
            no such table: it belongs in `data`, beside ranges.
        agent: Id of a policy, or `module:Class` for one of your own, alone or as `(id, settings)`. The default learns
            kernel and noise from the outcomes, on tables and ranges, and takes batches; by its id alone its width is 1.
        outcome: Name of the outcome, for tables and plots. Of several outcomes a dict with what is wanted of each:
            `"max"`, `"min"`, a limit such as `"<= 40"` that has to be kept, or both, as in `("min", "<= 40")`: then
            only what is beyond the limit is worth anything. Or two limits, as in `(">= 6", "<= 8")`; or a target, as in
            `"target 7.2"`: then the distance from it is learnt and minimised. With several that have a direction, `ask`
            proposes the point of largest expected hypervolume improvement, times the probability that limits are kept.
        minimise: Whether small outcomes are good, of a single outcome.
        constraints: Of ranges, a list of what has to hold between parameters: texts such as `"a + b <= 1"` or tuples
            such as `({"a": 1, "b": 1}, "<=", 1)`, see `agents.constraint`; `agents.mixture("a", "b", "c")` for
            fractions that sum to 1; functions of levels that return whether a combination is forbidden, see
            `agents.forbid`.
        data: Evaluations from before, a table with a column for every parameter and one for every outcome.
        failures: Whether rows of `data` without an outcome are evaluations that failed, as by `tell(..., failed=True)`;
            else they are an error.
        on_failure: What the policy learns of an evaluation that failed: with `"avoid"` no number, so that it knows
            nothing of points farther away; with `"worst"` the worst outcome so far, whenever it failed, if there is
            one, so that it keeps away from regions of failures.
        seed: Of the policy's random numbers.
        repeats: Whether a point may be evaluated more than once, as makes sense where outcomes are noisy.
        horizon: Number of evaluations that are planned, for policies that need it.
        kernel: Prior covariance on the unit cube, unit of the outcome squared, for policies that do not learn it.
        noise_std: Standard deviation of the noise, unit of the outcome, likewise.
        prior_mean: What to expect of an outcome, likewise.
        log: Columns of a table of candidates that are to be scaled by their logarithm.
        sd: What the column of the standard errors of the outcome is called in tables, of several outcomes a dict; None
            for the outcome's name and `" sd"`. Where one is known it takes the place of the learnt noise.

    Raises:
        TypeError: if an argument is of the wrong kind.
        ValueError: if one is out of range, or the policy cannot play on such parameters; the message names it.

    Reference: for `on_failure="worst"`, Wakabayashi et al. (2022), Bayesian optimization with experimental failure for
    high-throughput materials growth, npj Computational Materials 8, 180: the floor padding trick.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any] | Table,
        agent: str | tuple[str, Mapping[str, Any]] = DEFAULT_AGENT,
        *,
        outcome: str | Mapping[str, Any] = "outcome",
        minimise: bool = False,
        constraints: Sequence[Any] = (),
        data: Table = None,
        failures: bool = False,
        on_failure: OnFailure = "avoid",
        seed: int = 0,
        repeats: bool = False,
        horizon: int | None = None,
        kernel: Kernel | Mapping[str, Any] | None = None,
        noise_std: float | None = None,
        prior_mean: float = 0.0,
        log: Sequence[str] = (),
        sd: str | Mapping[str, str] | None = None,
    ) -> None:
        failures = as_truth("failures", failures)
        self.repeats, self.seed = as_truth("repeats", repeats), as_count("seed", seed, 0, _MOST_SEED)
        self.goals = as_goals(outcome, minimise=as_truth("minimise", minimise))
        self.prior_mean = as_outcome("prior_mean", prior_mean)
        self.on_failure = as_word("on_failure", on_failure, get_args(OnFailure))
        self._id, self._settings = as_agent(agent)
        self._sds = as_columns(sd, self.outcomes)
        self._choices, known = as_choices(parameters, self.outcomes, log, constraints, self._sds.values())
        if data is None and failures:
            raise ValueError(
                "failures: expected only with data=; in a table of candidates a row without an outcome is one to try"
            )
        self._history = History(
            self._choices, self.goals, prior_mean=self.prior_mean, repeats=self.repeats, sds=self._sds
        )
        failed = []
        if known is not None:
            self._history.take_over(known, "table", False)
        if data is not None:
            frame = as_frame("data", data)
            missing = [] if sd is None else [column for column in self._sds.values() if column not in frame]
            if missing:
                raise ValueError(f"sd: expected columns of data, got {missing[0]!r}")
            failed = self._history.take_over(frame, "data", failures)
        self._problems = tuple(
            Problem(
                name="the experiment",
                kernel=None if kernel is None else as_kernel(kernel),
                noise_std=noise_std,
                horizon=horizon,
                knowledge="learned",
                initial=self._initial(goal),
                **self._choices.problem_fields(),
            )
            for goal in self.goals
        )
        self._problem = self._problems[0]
        self._agent, self._worst = self._begun(), self._worst_told()
        if any(each.sds for each in self._history.before):
            self._refuse_sd()
        for i, point in failed:
            with row_named(i):
                self.tell(point, failed=True)

    # Policies take many small products, in one thread in a tenth of the time, and the same on every machine.
    @one_blas_thread()
    def _begun(self, again: bool = False) -> Agent | SeveralOutcomes:
        """The policy at the start of the experiment; `again` with other random numbers, and what it warned of once."""
        seed = [self.seed, len(self._history.own)] if again else self.seed
        with warnings.catch_warnings():
            if again:
                warnings.simplefilter("ignore")
            return begin(self._id, self._settings, self._problems, seed, self._choices, self.goals, self.prior_mean)

    def _initial(self, goal: Goal) -> InitialData | None:
        """What is known of an outcome before the first question, as policies have it."""
        before = self._history.before
        if not before:
            return None
        actions = np.array([each.action for each in before])
        rewards = np.array([self._history.reward(each, goal) for each in before])
        sds = np.array([each.sds.get(goal.name, np.nan) for each in before])
        return InitialData(rewards=rewards, sds=sds, **{"points" if self.candidates is None else "arms": actions})

    def _refuse_sd(self) -> None:
        """Raise where the policy takes no standard errors."""
        if not isinstance(_part(self._agent, 0), MAPBUCB):
            raise ValueError(f"sd: {self._id!r} takes no standard errors; {DEFAULT} does")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes."""
        return tuple(goal.name for goal in self.goals)

    @property
    def parameters(self) -> Parameters | None:
        """What can be set; None if there is a table of candidates."""
        return self._choices.parameters if isinstance(self._choices, Region) else None

    @property
    def candidates(self) -> Candidates | None:
        """The candidates; None if there are ranges of parameters."""
        return self._choices if isinstance(self._choices, Candidates) else None

    # Asking.

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None) -> Point: ...

    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> Plate: ...

    def ask(self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Point | Plate:
        """The point to try next, or a batch.

        Args:
            n: Size of the batch, >= 1; None for a single point. Fewer are given where fewer candidates are left, or the
                policy ends its own batches.
            fixed: Values that some parameters are held at, such as `{"base": "KOAc"}`: what is on the shelf today.

        Returns:
            A dict; for a batch a list of dicts, whose `to_csv(path)` and `to_excel(path)` write a table to fill in.

        Raises:
            ValueError: if `n` is no integer >= 1, a fixed value is none of its parameter's, no candidate is left, or
                the policy waits for points that are open.
        """
        count = 1 if n is None else as_count("n", n)
        agent, held = self._informed(), self._held(fixed)
        if agent.capabilities.batch == "sequential" and count > 1:
            raise ValueError(f"n: {self._id!r} proposes one point at a time, expected ask(); {_BATCHES}")
        new = self._proposals(agent, count, held)
        self._agent, self._worst = agent, self._worst_told()
        self._history.ask(new, held)
        points = Plate((dict(each.point) for each in new), self.outcomes)
        return points[0] if n is None else points

    def _held(self, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
        """Fixed values, in their own types."""
        if fixed is not None and not isinstance(fixed, Mapping):
            raise TypeError(f"fixed: expected a dict of values by the names of parameters, got {fixed!r}")
        held = {str(name): plain(value) for name, value in (fixed or {}).items()}
        for name in held:
            if name not in self._choices.names:
                raise ValueError(f"fixed: no parameter {name!r}; {did_you_mean(name, self._choices.names, cutoff=0.5)}")
        if self.parameters is not None:
            held = {name: self.parameters.named(name).exact(value) for name, value in held.items()}
        return held

    @one_blas_thread()
    def _proposals(self, agent: Agent | SeveralOutcomes, count: int, fixed: Mapping[str, Any]) -> list[Evaluation]:
        if not isinstance(self._choices, Region):
            return self._chosen(agent, count, None, fixed)
        region = self._choices.restricted(fixed)
        parts: Sequence[Agent] = ()
        if fixed:
            parts = agent.parts if isinstance(agent, SeveralOutcomes) else (agent,)
        if not all(hold_to(part, region) for part in parts):
            raise ValueError(f"fixed: {self._id!r} cannot be held to values; {DEFAULT} can")
        new = self._chosen(agent, count, region, fixed)
        for part in parts:
            hold_to(part, self._choices)
        return new

    def _chosen(
        self, agent: Agent | SeveralOutcomes, count: int, region: Region | None, fixed: Mapping[str, Any]
    ) -> list[Evaluation]:
        new: list[Evaluation] = []
        while len(new) < count:
            available = self._available(new, fixed)
            if available is not None and not available.any():
                if new:
                    break
                with_values = f" with {dict(fixed)!r}" if fixed else ""
                raise ValueError(
                    f"ask: all {len(available)} candidates{with_values} have been proposed or told; none is left; "
                    "to go beyond them give ranges of parameters, and what is known as data="
                )
            heeds = available is not None and agent.capabilities.contexts
            if available is not None and heeds:
                agent.offer(np.flatnonzero(available))
            pending = self._pending(new)
            waits = len(pending) > 0 and agent.capabilities.batch == "sequential"
            actions = pending.actions[:0] if waits else agent.select(1, pending)
            if available is not None and heeds:
                agent.offer(np.arange(len(available)))  # it may recommend what must not be proposed again
            if len(actions) == 0:
                if new:
                    break  # the policy has ended its batch
                raise ValueError(
                    f"ask: {self._id!r} waits for {len(pending)} open points, the first "
                    f"{self._history.open[0].point!r}; tell or withdraw them; {_BATCHES}"
                )
            action = actions[0]
            if available is not None and not heeds:
                action = self._replaced(agent, action, available, len(new))
            proposed = self._history.proposed(action, region)
            if region is not None and not self._is_new(proposed, new):
                moved = self._moved(agent, region, pending, new)
                if moved is None and new:
                    break
                if moved is None:
                    raise ValueError(
                        "ask: no point was found that is new, and away from those that failed; repeats=True allows a "
                        "point twice, as with replicates"
                    )
                proposed = moved
            new.append(proposed)
        return new

    def _available(self, new: Sequence[Evaluation], fixed: Mapping[str, Any]) -> Bool[np.ndarray, " A"] | None:
        """The candidates that may be proposed; None on ranges."""
        if self.candidates is None:
            return None
        available = self.candidates.with_values(fixed)
        for each in [*self._history.all, *new]:
            if each.status == "failed" or (not self.repeats and each.status != "withdrawn"):
                available[each.action] = False
        return available

    def _rng(self, turn: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self._history.own), turn])

    def _replaced(
        self, agent: Agent | SeveralOutcomes, action: Action, available: Bool[np.ndarray, " A"], turn: int
    ) -> Action:
        """The candidate, or the one that takes the place of one that is not available."""
        if available[action]:
            return action
        left = np.flatnonzero(available)
        return int(left[np.argmax(_upper_bounds(agent, self._problem.arms[left], self._rng(turn)))])  # type: ignore[index]

    def _is_new(self, proposed: Evaluation, new: Sequence[Evaluation]) -> bool:
        """Whether a point of ranges may be proposed: away from failures, and not met before unless `repeats`."""
        failed = [each.action for each in self._history.own if each.status == "failed"]
        if _near(np.asarray(proposed.action)[None], failed)[0]:
            return False
        if self.repeats:
            return True
        known = self._history.met(proposed.action, "open", "done", "failed")
        return not (known or self._history.same(proposed.action, new))

    def _moved(
        self, agent: Agent | SeveralOutcomes, region: Region, pending: Pending, new: Sequence[Evaluation]
    ) -> Evaluation | None:
        """The new point that takes the place of one that is not; None if none was found among random ones."""
        rng = self._rng(len(new))
        levels = [each.dimension.levels for each in region.parameters.all]
        n = _REPLACEMENTS
        if None not in levels:  # few points: so many draws that each of them is there
            n = min(max(n, _DRAWS * math.prod(each for each in levels if each is not None)), _MOST_DRAWS)
        limited = bool(region.constraints or region.fixed)
        others = region.sample(n, rng) if limited else space_of(self._problem).random(n, rng)
        others = np.unique(others, axis=0) if None not in levels else others
        worth = _upper_bounds(agent, others, rng) if isinstance(agent, Agent) else agent.gain(pending)(others)
        for i in np.argsort(-worth, kind="stable"):
            proposed = self._history.proposed(others[i], region)
            if self._is_new(proposed, new):
                return proposed
        return None

    # Telling.

    def tell(
        self,
        point: Mapping[str, Any] | str | Path | pd.DataFrame,
        outcome: float | Mapping[str, float] | None = None,
        *,
        failed: bool = False,
        correct: bool = False,
        sd: float | Mapping[str, float] | None = None,
    ) -> None:
        """Say what came of a point, asked or not, or of all points of a table.

        On ranges a point that is told stands for an open one where numbers differ by a thousandth of their ranges at
        most: so it was weighed. The evaluation then is of the point that was told.

        Args:
            point: A dict with a value for every parameter. Or a table, such as `ask(n).to_excel(path)` writes: the path
                of a .csv or .xlsx file, or a DataFrame. Rows without an outcome are not there yet; "failed" in a column
                `status` says that there will be none. A warning names columns that are left out. What was told
                already, and is the same, is no news. If a row is wrong, nothing is told.
            outcome: What came of it, a finite number; of several outcomes a dict with a number for each. Where some are
                measured later, those that are there, which are learnt; the point stays open until the last one is told.
            failed: Whether the evaluation gave no outcome; `outcome` is then left out.
            sd: Standard error of the outcome, > 0, where it is known, of several a dict; in place of the learnt noise.
            correct: Whether this takes the place of what was told of the point before. The policy learns all anew.

        Raises:
            TypeError: if the point is neither, there are several outcomes and `outcome` is none, or `failed` or
                `correct` is no truth value.
            ValueError: if the point is out of range, breaks a constraint by more than a thousandth of the largest term
                of its sum, or was told already and not `correct`, or not told and `correct`, or an outcome is no
                finite number.
            ImportError: if the file is one of Excel and openpyxl is not installed (extra `excel`).
        """
        if sd is not None:
            self._refuse_sd()
        if isinstance(point, Mapping):
            self._history.tell(point, outcome, failed, correct, sd)
            return
        given: Any = point
        if not hasattr(given, "columns") and not isinstance(given, (str, Path)):
            expected = f"a dict with {', '.join(self._choices.names)}, a DataFrame or the path of a .csv or .xlsx file"
            raise TypeError(f"point: expected {expected}, got {shown(point)}")
        if outcome is not None or failed or sd is not None:
            raise ValueError("outcome, failed, sd: expected none beside a table, which says what came of each point")
        labelled = [each for each in self._choices.parameters.all if each.labels]
        words = [each.name for each in labelled if all(isinstance(label, str) for label in each.labels)]
        frame = read_sheet(point, self._choices.names, words, self.outcomes, tuple(self._sds.values()))
        if frame.columns.isin(self._sds.values()).any():
            self._refuse_sd()
        told = copy.deepcopy(self._history, {id(self._choices): self._choices})
        where = "point" if hasattr(given, "columns") else Path(given).name
        told.tell_rows(rows_of(frame, self._choices.names, self._sds, where), as_truth("correct", correct), where)
        self._history = told

    def withdraw(self, point: Mapping[str, Any]) -> None:
        """Say that an open point will not be tried; it may be proposed again.

        Raises:
            ValueError: if it is not open.
        """
        self._history.withdraw(point)

    # What is known.

    @one_blas_thread()
    def _informed(self) -> Agent | SeveralOutcomes:
        """A copy of the policy that knows all that has been told."""
        own, told, worst = self._history.own, self._history.untold, self._worst_told()
        failed = [i for i, each in enumerate(own) if each.status == "failed"]
        for i in failed:
            own[i].counts_as = worst
        if self._history.corrected or (worst != self._worst and {*failed} - {i for i, _ in told}):
            # What it knows counts as another number now, which no policy can be told: it begins again.
            agent = self._begun(again=True)
            learnt = [(i, tuple(each.outcomes)) for i, each in enumerate(own) if each.outcomes]
            told = sorted([*learnt, *((i, self.outcomes) for i in failed)])
        else:
            agent = copy.deepcopy(self._agent, {id(problem): problem for problem in self._problems})
        if told:
            news = ([(i, own[i]) for i, names in told if goal.name in names] for goal in self.goals)
            agent.observe(*(self._feedback(each, goal) for each, goal in zip(news, self.goals, strict=True)))
        return agent

    def _worst_told(self) -> Outcomes | None:
        """What failures count as: the worst of every outcome so far; None if that is not wanted, or there is none."""
        done = [each.outcomes for each in self._history.done]
        if self.on_failure != "worst" or not done:
            return None
        return {
            goal.name: min((each[goal.name] for each in done), key=lambda y, goal=goal: goal.sign * goal.measure(y))  # type: ignore[misc]
            for goal in self.goals
        }

    def _feedback(self, told: Sequence[tuple[int, Evaluation]], goal: Goal) -> Feedback:
        rewards = np.array([self._history.reward(each, goal) for _, each in told])
        actions = np.array([each.action for _, each in told])
        sds = np.array([each.sds.get(goal.name, np.nan) for _, each in told])
        return Feedback(np.array([i for i, _ in told]), actions, rewards, np.ones(len(told)), np.isnan(rewards), sds)

    def _pending(self, new: Sequence[Evaluation]) -> Pending:
        open_ = [(i, each.action) for i, each in enumerate([*self._history.own, *new]) if each.status == "open"]
        if not open_:
            return Pending.empty(self._problem)
        return Pending(np.array([i for i, _ in open_]), np.array([action for _, action in open_]))

    @property
    def open(self) -> Plate:
        """The points that have been asked and not told, oldest first."""
        return Plate((dict(each.point) for each in self._history.open), self.outcomes)

    def best(self) -> tuple[Point, Any]:
        """The evaluated point of best outcome, averaged over its repeats, and that outcome.

        With limits, the best of those that keep to them; of several outcomes a dict of all.

        Raises:
            ValueError: if nothing has succeeded yet, nothing keeps to the limits, or several outcomes have a direction.
        """
        point, outcomes = self._history.best()
        return point, outcomes[self.outcomes[0]] if len(self.goals) == 1 else dict(outcomes)

    def pareto(self) -> pd.DataFrame:
        """The evaluated points that keep to all limits and that no other beats in all outcomes with a direction.

        Returns:
            A row a point with its parameters and outcomes, averaged over its repeats, numbered as in `results`; the
            best of the first outcome comes first.
        """
        return self._history.front()

    def recommend(self) -> Point:
        """The point that the policy would deploy: on tables it may be one that was not tried, but none that failed.

        With limits, the evaluated point of best posterior mean among those whose means keep to them. Where the policy
        names one that failed, the evaluated point of best mean, or else of best outcome, takes its place.

        Raises:
            ValueError: if several outcomes have a direction, no point keeps to the limits, or all have failed.
        """
        agent = self._informed()
        failed = [each for each in self._history.own if each.status == "failed"]
        if self.candidates is not None:
            left = np.ones(len(self.candidates.points), bool)
            for each in failed:
                left[each.action] = False
            if not left.any():
                raise ValueError("recommend: all candidates have failed; expected one that has not")
            if agent.capabilities.contexts:
                agent.offer(np.flatnonzero(left))
        if isinstance(agent, SeveralOutcomes):
            told, done = agent.parts[0].actions, self._history.done
            allowed = [bool(self._history.same(x, done)) and not self._history.same(x, failed) for x in told]
            action = agent.recommend(np.array(allowed, bool))
        else:
            action = agent.recommend()
            if self._history.same(action, failed):
                action = self._best_evaluated(agent, failed)
        evaluated = self._history.all
        same = self._history.same(action, evaluated)
        return dict((evaluated[same[0]] if same else self._history.proposed(action)).point)

    def _best_evaluated(self, agent: Agent, failed: Sequence[Evaluation]) -> Action:
        """The action of best mean, without a model of best reward, among those with an outcome that never failed."""
        known = [each for each in self._history.done if not self._history.same(each.action, failed)]
        if not known:
            raise ValueError("recommend: expected a point with an outcome that has not failed, got none yet")
        actions = np.array([each.action for each in known])
        found = agent.predict(actions if self._problem.arms is None else self._problem.arms[actions])
        rewards = [self._history.reward(each, self.goals[0]) for each in known] if found is None else found[0]
        return known[int(np.argmax(rewards))].action

    @one_blas_thread()
    def outlook(self, level: float = 0.9, outcome: str | None = None) -> Outlook:
        """How good the recommended point is, and by how much anything else may be better.

        Whatever the policy, the model is learnt from the outcomes alone: a mixture over hyperparameters, whose variance
        is the mean of the variances plus the variance of the means. A policy that is such a mixture lends its own.

        Args:
            level: Probability of each statement, between 0 and 1, as the model has it.
            outcome: Which one, where several have a direction; None for the first.

        Returns:
            A record to print; in a notebook a picture. With limits nothing counts as better that breaks one.

        Raises:
            ValueError: if `level` is out of range, outcomes do not differ, or no point keeps to the limits yet.
        """
        level, j, beliefs = as_level(level), self._direction(outcome), self._beliefs()
        return self._look(beliefs, j, level)

    @one_blas_thread()
    def stop(self, within: float, level: float = 0.9, outcome: str | None = None) -> Stop:
        """Whether nothing is better than the recommended point by more than `within`.

        Args:
            within: What is not worth another plate, > 0, unit of the outcome.
            level: As of `outlook`.
            outcome: As of `outlook`.

        Returns:
            A record that is true if so; printed, it says where something better is most likely, and what a plate of
            the size of the last one is expected to bring. It is never true below ten outcomes.

        Raises:
            ValueError: as of `outlook`, or if `within` is no finite number > 0.
        """
        within = positive_number("within", within)
        level, j, beliefs = as_level(level), self._direction(outcome), self._beliefs()
        size = next((len(event["ask"]) for event in reversed(self._history.events) if "ask" in event), 1)
        plate: list[Evaluation] = []
        with suppress(ValueError):  # nothing is left, or the policy waits
            plate = self._proposals(self._informed(), size, {})
        return stop_of(beliefs, j, self._look(beliefs, j, level), within, plate)

    def _direction(self, outcome: str | None) -> int:
        """The place of an outcome with a direction that is named, or of the first."""
        wanted = tuple(goal.name for goal in self.goals if goal.direction is not None)
        return self.outcomes.index(as_name("outcome", wanted[0] if outcome is None else outcome, wanted))

    def _beliefs(self) -> Beliefs:
        agent = self._informed()
        lent = agent if isinstance(agent, MAPBUCB) and agent.spread and isinstance(agent.posterior, Mixture) else None
        return Beliefs(self._history, self._choices, self._problems, self.seed, lent=lent)

    def _look(self, beliefs: Beliefs, j: int, level: float) -> Outlook:
        others = [goal.name for goal in self.goals if goal.direction is not None and goal is not self.goals[j]]
        note = ""
        if others:
            note = f"This is of {self.outcomes[j]} alone; what it costs in {' and '.join(others)} is in pareto()."
        elif not isinstance(self._agent, LearnedAgent | SeveralOutcomes):
            note = f"The point is that of {self._id!r}; the model is another, which learns kernel and noise."
        point = beliefs.best(j) if others else self._history.stated(self.recommend())
        return look(beliefs, j, level, point, note)

    def predict(self, points: Point | Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
        """What the policy expects at points: its mean and the half-width of its band, unit of the outcome.

        The half-width is NaN while a policy that learns the scale of outcomes has been told none that differ.

        Args:
            points: Dicts with a value for every parameter, or one such dict; or a frame with a column for every
                parameter, whose other columns do not matter.

        Returns:
            A row a point, numbered as in the frame if one was given; none for no points, whatever the policy. Of
            several outcomes there are these two columns for each, as in `frame["yield"]["mean"]`.

        Raises:
            TypeError, ValueError: if a point is out of range, or a column is missing.
            ValueError: if the policy has no model.
        """
        import pandas as pd

        index = None
        if isinstance(points, pd.DataFrame):
            index, points = points.index, points_in(points, self._choices.names)
        points = [points] if isinstance(points, Mapping) else points
        actions = [self._history.stated(point).action for point in points]
        agent = self._informed() if len(actions) else None  # policies need not expect empty arrays
        X = np.array(actions) if self._problem.arms is None else self._problem.arms[np.array(actions, int)]
        frames = {}
        for j, goal in enumerate(self.goals):
            mean, half_width = np.zeros((2, 0)) if agent is None else self._predicted(agent, j, X)
            columns = {"mean": mean, "half_width": half_width}
            frames[goal.name] = pd.DataFrame(columns, index=index, dtype=np.float64)
        return frames[self.outcomes[0]] if len(frames) == 1 else pd.concat(frames, axis="columns")

    def _predicted(self, agent: Agent | SeveralOutcomes, j: int, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and half-width of the j-th outcome at coordinates, its unit; NaN widths while it has no scale."""
        part = _part(agent, j)
        found = part.predict(X)
        if found is None:
            raise ValueError(f"agent: {self._id!r} has no model to predict with")
        has_no_scale = isinstance(part, LearnedAgent) and len(np.unique(part.y)) < 2  # all that it was told are equal
        half_width = np.full(len(X), np.nan) if has_no_scale else found[1]
        return self._history.in_units(found[0], self.goals[j]), half_width

    def check(self, outcome: str | None = None) -> Check:
        """Whether to believe the model: every outcome predicted from those of all other points, in numbers and words.

        It tells of points like those that were evaluated; a policy evaluates most of them where outcomes are good.

        Args:
            outcome: Which one, where there are several.

        Raises:
            ValueError: if there is no outcome yet, several and none is named, or the policy has no single Gaussian
                process that it learnt.

        Reference: Rasmussen and Williams (2006), eq. 5.12; kernel, noise and prior mean are learnt from all outcomes.
        """
        from agents.experiment.leave_one_out import check_of

        j = self._named(outcome)
        return check_of(_part(self._informed(), j), self._id, self._history, self.goals[j], self._choices)

    def _named(self, outcome: str | None) -> int:
        """The place of an outcome that is named, or of the only one."""
        if outcome is None and len(self.goals) == 1:
            return 0
        return self.outcomes.index(as_name("outcome", outcome, self.outcomes))

    def results(self) -> pd.DataFrame:
        """One row per evaluation, in order: the parameters, the outcome and its status; data from before come first."""
        return self._history.table()

    def plot(self) -> go.Figure:
        """Outcomes in the order of evaluation with the best so far, and against every parameter, as a Plotly figure.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
        """
        from agents.experiment.plot import outcome_figure

        return outcome_figure(
            self.results(), self._choices.names, self.goals, self._history.best_so_far(), self._choices.parameters
        )

    def plot_pareto(self) -> go.Figure:
        """Outcomes against each other, with the front of `pareto` and the limits, as a Plotly figure.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
            ValueError: if there is a single outcome.
        """
        from agents.experiment.plot import front_figure

        if len(self.goals) == 1:
            raise ValueError(f"plot_pareto: expected several outcomes, got {self.outcomes[0]} alone; plot() draws it")
        import pandas as pd

        outcomes = pd.DataFrame([each for _, each, _ in self._history.averages()], columns=list(self.outcomes))
        return front_figure(outcomes, self.pareto(), self.goals)

    @one_blas_thread()
    def plot_model(
        self,
        outcome: str | None = None,
        *,
        point: Mapping[str, Any] | None = None,
        pair: tuple[str, str] | None = None,
        level: float = 0.9,
    ) -> go.Figure:
        """What the model says of an outcome, as a Plotly figure: slices through a point, what matters, and a contour.

        The model is that of `outlook`. There is a slice for each parameter, with the interval of `outlook`, in which
        the others stay as at the point; those of a mixture keep their ratios to each other. Nothing is drawn where
        constraints exclude it. What matters is the total effect of each parameter, the share of the variance that is
        left once all others are known; its interval is over the hyperparameters.

        Args:
            outcome: Which outcome; None for the first.
            point: What the slices go through; None for what `recommend` says, or, with limits or several outcomes that
                have a direction, the point of the front that dominates the largest volume.
            pair: The two parameters of the contour; None for the two numbers of largest effect.
            level: Of the intervals.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
            TypeError, ValueError: if an argument is none of the experiment's, or outcomes do not differ yet.
        """
        from agents.experiment.plot import model_figure, numbers_of

        j, numbers = self._named(self.outcomes[0] if outcome is None else outcome), numbers_of(self._choices.parameters)
        if pair is not None and not (isinstance(pair, (tuple, list)) and tuple(pair) in list(permutations(numbers, 2))):
            raise ValueError(f"pair: expected two of {', '.join(numbers)}, got {pair!r}")
        if not self._history.averages():
            raise ValueError("plot_model: expected at least one outcome, got none yet")
        if point is None:
            point = self._shown_point()
        point, varying, goal = self._history.stated(point).point, self._choices.parameters, self.goals[j]
        level, beliefs = as_level(level), self._beliefs()
        region = self._choices if isinstance(self._choices, Region) else None
        shown = {each: point[each] for each in varying.names}
        told = self.results().rename(columns={goal.name: goal.measured})
        told[goal.measured] = goal.measure(told[goal.measured].astype(float))
        return model_figure(
            varying,
            region,
            shown,
            partial(beliefs.band, j, level),
            told,
            goal.measured,
            beliefs.effects(j, level),
            pair,
            level,
        )

    def _shown_point(self) -> Point:
        """The point through which `plot_model` draws where none is given."""
        if len(self.goals) == 1 and self.goals[0].limit is None:
            return self.recommend()
        front = self.pareto()
        if front.empty:
            raise ValueError("point: expected one to draw through, since none that was told keeps to all limits yet")
        Y = np.column_stack(
            [goal.sign * goal.measure(front[goal.name]) for goal in self.goals if goal.direction is not None]
        )
        extent = np.ptp(Y, axis=0)
        shares = (Y - Y.min(axis=0)) / np.where(extent > 0, extent, 1.0)  # of what it dominates, in each outcome
        return points_in(front, self._choices.names)[int(np.argmax(shares.prod(axis=1)))]

    def __repr__(self) -> str:
        if self.candidates is not None:
            tried = {each.action for each in self._history.all if each.status != "withdrawn"}
            n = len(self.candidates.points)
            what = f"{n} candidates, {n - len(tried)} untried, of {', '.join(self.candidates.names)}"
        else:
            what = ", ".join(self._choices.names)
        return f"Experiment({what}; {self._id}; {self._history})"

    # Files.

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything to a JSON file, whole or not at all: what was set up, and every point and outcome in order.

        Args:
            path: The file.
            overwrite: Whether to replace a file that holds something else than a beginning of this experiment, such as
                what another notebook saved, or an earlier campaign.

        Raises:
            TypeError: if a setting of the policy has no JSON form, or `overwrite` is no truth value.
            ValueError: if `path` is a folder or a device, or such a file and not `overwrite`.
            OSError: if the file cannot be read or written.
        """
        path = Path(path)
        if path.exists() and not path.is_file():
            raise ValueError(f"path: expected a file, got the {'folder' if path.is_dir() else 'device'} {str(path)!r}")
        overwrite = as_truth("overwrite", overwrite)
        first = self.goals[0]
        if len(self.goals) == 1 and first.limit is None and first.target is None:
            goals: dict[str, Any] = {"outcome": first.name, "minimise": first.direction == "min"}
        else:
            goals = {"outcome": {goal.name: goal.to_spec() for goal in self.goals}, "minimise": False}
        setup = {
            "agent": [self._id, self._settings],
            **goals,
            "seed": self.seed,
            "repeats": self.repeats,
            "on_failure": self.on_failure,
            "horizon": self._problem.horizon,
            "kernel": None if self._problem.kernel is None else self._problem.kernel.to_spec(),
            "noise_std": self._problem.noise_std,
            "prior_mean": self.prior_mean,
            "data": [{**each.point, **each.outcomes, **self._history.errors(each)} for each in self._history.before],
        }
        if self._sds != as_columns(None, self.outcomes):
            setup["sd"] = self._sds
        # A link stays one, and what it leads to is written.
        target = path.resolve() if path.is_symlink() else path
        file.write(target, self._choices, setup, self._history.events, overwrite)
        return path

    @classmethod
    def load(cls, path: str | Path, agent: str | None = None) -> Experiment:
        """The experiment in a file of `save`. Its policy plays every step again, so that the next `ask` is the same.

        Where another version of this package would have proposed something else, a warning says so; the points and
        outcomes of the file hold all the same.

        Args:
            path: The file.
            agent: Where the policy is a class of one's own, its `module:Class` once more: loading imports it and calls
                it, and a file, which may be a stranger's, is not to say of what.

        Raises:
            ValueError: if the file is none of `save`, or of a later version, or makes no sense, or its policy is a
                class that `agent` does not name.
            OSError: if it cannot be read.
        """
        setup, events = file.read(Path(path))
        try:
            id, _ = as_agent(setup["agent"])
            if ":" in id and id != agent:
                raise ValueError(
                    f"its policy is {id!r}, a class outside this package, which loading would import and call; "
                    f"Experiment.load(path, agent={id!r}) says that it may"
                )
            lab, same = cls(**setup), True
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None
        for i, event in enumerate(events):
            try:
                file.check_event(event)
                if "ask" in event:
                    same = lab._ask_again(event) and same
                else:
                    lab._history.note(event)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: event {i} (counted from 0): {error}") from error
        lab._history.events = events  # as they were written, perhaps by hand, for `save` to find them in the file
        if not same:
            warnings.warn(
                f"{path}: its policy would now have proposed other points; those that were tried are kept", stacklevel=2
            )
        return lab

    def _ask_again(self, event: file.Event) -> bool:
        """Whether the policy proposes what it proposed then; that is kept in any case."""
        then = [self._history.stated(point, asked=True) for point in event["ask"]]
        agent, fixed = self._informed(), self._held(event.get("fixed"))
        try:
            now = self._proposals(agent, len(then), fixed)
        except ValueError:
            now = []
        self._agent, self._worst = agent, self._worst_told()
        self._history.ask(then, fixed)
        return [each.point for each in now] == [each.point for each in then]


def _part(agent: Agent | SeveralOutcomes, j: int) -> Agent:
    """The policy of the j-th outcome."""
    return agent.parts[j] if isinstance(agent, SeveralOutcomes) else agent


def _near(points: np.ndarray, failed: Sequence[Action]) -> Bool[np.ndarray, " n"]:
    """Which points of the unit cube are close to one that failed."""
    if not failed:
        return np.zeros(len(points), bool)
    return (np.abs(points[:, None] - np.array(failed)[None]).max(axis=2) <= _NEAR).any(axis=1)


def _upper_bounds(agent: Agent | SeveralOutcomes, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The upper end of the policy's band; random numbers if it has none."""
    found = _part(agent, 0).predict(X)
    return rng.random(len(X)) if found is None else found[0] + found[1]
