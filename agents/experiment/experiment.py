"""Experiments of one's own, by asking and telling, in true units and names."""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from jaxtyping import Bool

from agents.core.protocol import Action, Agent, Feedback, Pending
from agents.core.registry import load_entry_point, make
from agents.core.space import space_of
from agents.experiment.candidates import Candidates, Table, as_frame
from agents.experiment.parameters import Parameter, Parameters, Point, is_number, plain, same_points
from gpbandit_envs.arguments import LARGEST, as_count, as_word, did_you_mean
from gpbandit_envs.atomic import written_whole
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.kernel_specs import as_kernel
from gpbandit_envs.problem import InitialData, Problem
from gpbandit_envs.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from agents.experiment.check import Check

__all__ = ["DEFAULT_AGENT", "Evaluation", "Experiment"]

DEFAULT_AGENT = "MAP-BUCB"
_FORMAT, _SCHEMA = "gpbandit-envs experiment", 1
_STATUS = "status"  # a column of results()
_ALIKE = 0.8  # likeness of names, see difflib: two letters of five exchanged
_NEAR = 0.01  # of the range in every coordinate: as close to a failed point of a box, nothing is proposed
_REPLACEMENTS = 1_024  # points of a box among which that for one close to a failed point is chosen

Status = Literal["open", "done", "failed", "withdrawn"]
OnFailure = Literal["avoid", "worst"]


@dataclass
class Evaluation:
    """One evaluation.

    Attributes:
        point: What was, or is to be, tried.
        action: It as policies see it: the number of a candidate, or a point of the unit cube.
        status: `"open"` until told.
        outcome: What came of it, unit of the outcome; None unless `"done"`.
        asked: Whether the policy proposed it; False for one that was told without having been asked.
        counts_as: For a failed one, the outcome that the policy was given in place of none, if any.
    """

    point: Point
    action: Action
    status: Status = "open"
    outcome: float | None = None
    asked: bool = True
    counts_as: float | None = None

    @property
    def number(self) -> float | None:
        """What the policy learns of it: its outcome, or what it counts as; None for nothing."""
        return self.counts_as if self.outcome is None else self.outcome


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

    On a table a candidate is proposed once, unless `repeats`. Where a policy proposes what is not available, and cannot
    be told so (`Agent.offer`), the available candidate of largest upper bound of its own `predict` takes the place,
    or a random one if it has no model.

    Args:
        parameters: What can be set. A dict of ranges: `(low, high)` for any number between, `agents.log(low, high)`,
            `range(low, high + 1)` for integers, a list or an array of numbers, or a range in larger steps, for these
            levels, a list of text for categories. Or a table of candidates, one a row: a DataFrame, the path of a CSV
            file, a list of dicts; its columns are the parameters, and a column named like the outcome holds what is
            known already. Each row without an outcome is one to propose, so that a table of past experiments alone is
            no such table: it belongs in `data`, beside ranges.
        agent: Id of a policy, or `module:Class` for one of your own, alone or as `(id, settings)`. The default learns
            kernel and noise from the outcomes, on tables and ranges, and takes batches.
        outcome: Name of the outcome, for tables and plots.
        minimise: Whether small outcomes are good.
        data: Evaluations from before, a table with a column for every parameter and one for the outcome.
        failures: Whether rows of `data` without an outcome are evaluations that failed, as by `tell(..., failed=True)`;
            else they are an error.
        on_failure: What the policy learns of an evaluation that failed: with `"avoid"` no number, so that it knows
            nothing of points farther away; with `"worst"` the worst outcome told by the time of the next `ask`, if
            there is one, so that it keeps away from regions of failures.
        seed: Of the policy's random numbers.
        repeats: Whether a point may be evaluated more than once, as makes sense where outcomes are noisy.
        horizon: Number of evaluations that are planned, for policies that need it.
        kernel: Prior covariance on the unit cube, unit of the outcome squared, for policies that do not learn it.
        noise_std: Standard deviation of the noise, unit of the outcome, likewise.
        prior_mean: What to expect of an outcome, likewise.
        log: Columns of a table of candidates that are to be scaled by their logarithm.

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
        outcome: str = "outcome",
        minimise: bool = False,
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
    ) -> None:
        self.outcome, self.minimise, self.repeats = str(outcome), bool(minimise), bool(repeats)
        self.seed, self.prior_mean = as_count("seed", seed, 0), _finite("prior_mean", prior_mean)
        self.on_failure = as_word("on_failure", on_failure, get_args(OnFailure))
        self._id, self._settings = _as_agent(agent)
        self.parameters: Parameters | None = None
        self.candidates: Candidates | None = None
        before = []
        if isinstance(parameters, Mapping):
            if log:
                raise ValueError("log: expected only for a table of candidates; here agents.log(low, high) says it")
            self.parameters = Parameters.of(parameters)
        else:
            frame = as_frame("parameters", parameters)
            if self._is_among(frame):
                known = frame[frame[self.outcome].notna()]
                before = [] if len(known) == 0 else [known]
                frame = frame.drop(columns=self.outcome)
            self.candidates = Candidates.of(frame, (log,) if isinstance(log, str) else tuple(log))
        for name in self._names:
            if name in (self.outcome, _STATUS):
                raise ValueError(
                    f"parameters: expected names other than {self.outcome!r} and {_STATUS!r}, which are columns of "
                    f"results(), got {name!r}; outcome= is the name of the outcome"
                )
        if data is not None:
            before.append(as_frame("data", data))
        elif failures:
            raise ValueError(
                "failures: expected only with data=; in a table of candidates a row without an outcome is one to try"
            )
        self._before: list[Evaluation] = []
        self._evaluations: list[Evaluation] = []
        failed: list[tuple[int, Point]] = []
        for rows in before:
            failed += self._take_over(rows, bool(failures))
        self._events: list[dict[str, Any]] = []
        self._told: list[int] = []  # not yet known to the policy
        self._problem = self._describe(horizon, kernel, noise_std)
        self._agent = self._begin()
        for i, point in failed:
            with _row_named(i):
                self.tell(point, failed=True)

    # What is set up once.

    def _is_among(self, frame: pd.DataFrame) -> bool:
        """Whether a column has the outcome's name.

        Raises:
            ValueError: if one differs from it in spelling alone, or none has it and one is close: it would become a
                parameter.
        """
        wanted, there = self.outcome.strip().casefold(), self.outcome in frame.columns
        others = [name for name in frame.columns if name != self.outcome]
        respelt = [name for name in others if name.strip().casefold() == wanted]
        hint = did_you_mean(wanted, respelt or others, "", cutoff=_ALIKE)
        if respelt or (hint and not there):
            raise ValueError(
                f"outcome: expected the name of a column, got {self.outcome!r}; {hint} "
                "A setting needs a name less like it"
            )
        return there

    def _take_over(self, frame: pd.DataFrame, failures: bool) -> list[tuple[int, Point]]:
        """Take over the outcomes in a table; returns the rows that have none, with their numbers."""
        if not self._is_among(frame):
            raise ValueError(
                f"data: expected a column {self.outcome!r} with the outcomes, got {', '.join(frame.columns)}; "
                "outcome= names it"
            )
        import pandas as pd

        failed = []
        for i, row in enumerate(frame.to_dict("records")):
            point = {str(name): plain(value) for name, value in row.items()}
            outcome = point.pop(self.outcome)
            with _row_named(i):
                if pd.isna(outcome):
                    if not failures:
                        raise ValueError(
                            f"{self.outcome}: expected a number, got none; leave out rows not measured yet, or give "
                            "failures=True if each row without one failed"
                        )
                    failed.append((i, point))
                    continue
                new = self._evaluation(point, asked=False)
                self._refuse_repeat(new)
                new.outcome, new.status = _finite(self.outcome, outcome), "done"
            self._before.append(new)
        return failed

    def _describe(self, horizon: int | None, kernel: Any, noise_std: float | None) -> Problem:
        initial = None
        if self._before:
            actions = np.array([each.action for each in self._before])
            rewards = np.array([self._reward(each) for each in self._before])
            initial = InitialData(rewards=rewards, **{"points" if self.candidates is None else "arms": actions})
        fields: dict[str, Any] = {
            "name": "the experiment",
            "kernel": None if kernel is None else as_kernel(kernel),
            "noise_std": noise_std,
            "horizon": horizon,
            "knowledge": "learned",
            "initial": initial,
        }
        if self.candidates is not None:
            return Problem(dim=self.candidates.arms.shape[1], arms=self.candidates.arms, **fields)
        assert self.parameters is not None
        domain = self.parameters.domain
        return Problem(dim=domain.dim, notes={"domain": domain.to_spec()}, **fields)

    def _begin(self) -> Agent:
        # A class of one's own is 'module:Class', as in suites.
        agent = load_entry_point(self._id)(**self._settings) if ":" in self._id else make(self._id, **self._settings)
        wanted, kind = (
            ("finite", "tables of candidates") if self._problem.is_finite else ("box", "ranges of parameters")
        )
        if wanted not in agent.capabilities.domains:
            raise ValueError(f"agent: {self._id!r} does not play on {kind}; {DEFAULT_AGENT!r}, the default, does")
        lacking = agent.capabilities.needs - agent.arguments_state()
        stated = {"kernel": self._problem.kernel, "noise": self._problem.noise_std, "horizon": self._problem.horizon}
        for need, argument in (("kernel", "kernel"), ("noise", "noise_std"), ("horizon", "horizon")):
            if need in lacking and stated[need] is None:
                raise ValueError(
                    f"{argument}: {self._id!r} needs it; {DEFAULT_AGENT!r}, the default, learns kernel and noise"
                )
        agent.reset(self._problem, np.random.default_rng(self.seed))
        return agent

    # Asking.

    @overload
    def ask(self) -> Point: ...

    @overload
    def ask(self, n: int) -> list[Point]: ...

    def ask(self, n: int | None = None) -> Point | list[Point]:
        """The point to try next, or a batch.

        Args:
            n: Size of the batch, >= 1; None for a single point. Fewer are given where fewer candidates are left, or the
                policy ends its own batches.

        Returns:
            A dict; for a batch a list of dicts.

        Raises:
            ValueError: if `n` is no integer >= 1, no candidate is left, or the policy waits for points that are open.
        """
        count = 1 if n is None else as_count("n", n)
        agent = self._informed()
        if agent.capabilities.batch == "sequential" and count > 1:
            raise ValueError(f"n: {self._id!r} proposes one point at a time, expected ask(); {_BATCHES}")
        new = self._proposals(agent, count)
        self._agent, self._told = agent, []
        self._evaluations += new
        self._events.append({"ask": [each.point for each in new]})
        points = [dict(each.point) for each in new]
        return points[0] if n is None else points

    def _proposals(self, agent: Agent, count: int) -> list[Evaluation]:
        new: list[Evaluation] = []
        while len(new) < count:
            available = self._available(new)
            if available is not None and not available.any():
                if new:
                    break
                raise ValueError(
                    f"ask: all {len(available)} candidates have been proposed or told; none is left; "
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
                    f"{self._open()[0].point!r}; tell or withdraw them; {_BATCHES}"
                )
            action = actions[0] if heeds else self._replaced(agent, actions[0], available, len(new))
            new.append(self._proposal(action))
        return new

    def _proposal(self, action: Action) -> Evaluation:
        if self.candidates is not None:
            return Evaluation(dict(self.candidates.points[int(action)]), int(action))
        assert self.parameters is not None
        domain = self.parameters.domain
        # The point that is shown, which is rounded, is the one that the policy learns about.
        point = self.parameters.point(domain.values(np.asarray(action)[None])[0])
        return Evaluation(point, domain.unit(self.parameters.row(point)[None])[0])

    def _available(self, new: Sequence[Evaluation]) -> Bool[np.ndarray, " A"] | None:
        """The candidates that may be proposed; None on ranges."""
        if self.candidates is None:
            return None
        available = np.ones(len(self.candidates.points), bool)
        for each in [*self._before, *self._evaluations, *new]:
            if each.status == "failed" or (not self.repeats and each.status != "withdrawn"):
                available[each.action] = False
        return available

    def _replaced(self, agent: Agent, action: Action, available: np.ndarray | None, turn: int) -> Action:
        """The action, or what takes the place of one that is not available."""
        rng = np.random.default_rng([self.seed, len(self._evaluations), turn])
        if available is not None:
            if available[action]:
                return action
            left = np.flatnonzero(available)
            return int(left[_largest_bound(agent, self._problem.arms[left], rng)])  # type: ignore[index]
        failed = [each.action for each in self._evaluations if each.status == "failed"]
        if not _near(np.asarray(action)[None], failed)[0]:
            return action
        others = space_of(self._problem).random(_REPLACEMENTS, rng)
        others = others[~_near(others, failed)]
        if len(others) == 0:
            raise ValueError("ask: no point was found that is away from those that failed")
        return others[_largest_bound(agent, others, rng)]

    # Telling.

    def tell(self, point: Mapping[str, Any], outcome: float | None = None, *, failed: bool = False) -> None:
        """Say what came of a point, asked or not.

        Args:
            point: A dict with a value for every parameter.
            outcome: What came of it, a finite number.
            failed: Whether the evaluation gave no outcome; `outcome` is then left out.

        Raises:
            TypeError: if the point is no dict.
            ValueError: if the point is out of range or was told already, or the outcome is no finite number.
        """
        if failed and outcome is not None:
            raise ValueError(f"outcome: expected none with failed=True, got {outcome!r}")
        value = None if failed else _finite(self.outcome, outcome)
        found = self._find(point)
        if found is None:
            new = self._evaluation(point, asked=False)
            self._refuse_repeat(new)
            self._evaluations.append(new)
            found = len(self._evaluations) - 1
        told = self._evaluations[found]
        told.outcome, told.status = value, "failed" if failed else "done"
        self._told.append(found)
        event: dict[str, Any] = {"tell": found, "failed": True} if failed else {"tell": found, "outcome": value}
        self._events.append(event if told.asked else {**event, "point": told.point})

    def withdraw(self, point: Mapping[str, Any]) -> None:
        """Say that an open point will not be tried; it may be proposed again.

        Raises:
            ValueError: if it is not open.
        """
        found = self._find(point)
        if found is None:
            raise ValueError(f"point: expected one of the {len(self._open())} open points, got {dict(point)!r}")
        self._evaluations[found].status = "withdrawn"
        self._events.append({"withdraw": found})

    def _evaluation(self, point: Any, asked: bool) -> Evaluation:
        if self.candidates is not None:
            arm = self.candidates.arm(point)
            return Evaluation(dict(self.candidates.points[arm]), arm, asked=asked)
        assert self.parameters is not None
        row = self.parameters.row(point)
        return Evaluation(self.parameters.exact_point(row), self.parameters.domain.unit(row[None])[0], asked=asked)

    def _find(self, point: Any) -> int | None:
        """The oldest open evaluation of a point."""
        wanted = self._evaluation(point, asked=False).action
        numbers = [i for i, each in enumerate(self._evaluations) if each.status == "open"]
        same = self._same(wanted, [self._evaluations[i] for i in numbers])
        return numbers[same[0]] if same else None

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(self.candidates.names if self.parameters is None else self.parameters.names)  # type: ignore[union-attr]

    def _same(self, action: Action, evaluations: Sequence[Evaluation]) -> list[int]:
        if self.candidates is not None:
            return [i for i, each in enumerate(evaluations) if each.action == action]
        return same_points(np.asarray(action), [np.asarray(each.action) for each in evaluations])

    def _refuse_repeat(self, new: Evaluation) -> None:
        if self.repeats:
            return
        known = [each for each in [*self._before, *self._evaluations] if each.status in ("done", "failed")]
        same = self._same(new.action, known)
        if same:
            each = known[same[0]]
            was = "failed" if each.outcome is None else f"{self.outcome} {each.outcome:g}"
            raise ValueError(f"point: {new.point!r} has been told already ({was}); repeats=True allows it twice")

    # What is known.

    def _informed(self) -> Agent:
        """A copy of the policy that knows all that has been told."""
        agent = copy.deepcopy(self._agent, {id(self._problem): self._problem})
        told = [(i, self._evaluations[i]) for i in self._told]
        if told:
            self._count_failures([each for _, each in told])
            failed = np.array([each.number is None for _, each in told])
            rewards = np.array([np.nan if each.number is None else self._reward(each) for _, each in told])
            actions = np.array([each.action for _, each in told])
            agent.observe(Feedback(np.array([i for i, _ in told]), actions, rewards, np.ones(len(told)), failed))
        return agent

    def _count_failures(self, told: Sequence[Evaluation]) -> None:
        """Let those that failed count as the worst outcome, if that is wanted and there is one."""
        done = [each for each in [*self._before, *self._evaluations] if each.status == "done"]
        if self.on_failure == "worst" and done:
            worst = min(done, key=self._reward).outcome
            for each in told:
                each.counts_as = worst if each.status == "failed" else None

    def _reward(self, evaluation: Evaluation) -> float:
        assert evaluation.number is not None
        return (-1.0 if self.minimise else 1.0) * (evaluation.number - self.prior_mean)

    def _open(self) -> list[Evaluation]:
        return [each for each in self._evaluations if each.status == "open"]

    def _pending(self, new: Sequence[Evaluation]) -> Pending:
        open_ = [(i, each.action) for i, each in enumerate([*self._evaluations, *new]) if each.status == "open"]
        if not open_:
            return Pending.empty(self._problem)
        return Pending(np.array([i for i, _ in open_]), np.array([action for _, action in open_]))

    @property
    def open(self) -> list[Point]:
        """The points that have been asked and not told, oldest first."""
        return [dict(each.point) for each in self._open()]

    def best(self) -> tuple[Point, float]:
        """The evaluated point of best outcome, averaged over its repeats, and that outcome.

        Raises:
            ValueError: if nothing has succeeded yet.
        """
        groups: list[list[Evaluation]] = []
        for each in [*self._before, *self._evaluations]:
            if each.status == "done":
                same = self._same(each.action, [group[0] for group in groups])
                if same:
                    groups[same[0]].append(each)
                else:
                    groups.append([each])
        if not groups:
            raise ValueError("best: expected at least one outcome, got none yet")
        top = max(groups, key=lambda group: float(np.mean([self._reward(each) for each in group])))
        return dict(top[0].point), float(np.mean([each.outcome for each in top if each.outcome is not None]))

    def recommend(self) -> Point:
        """The point that the policy would deploy: on tables it may be one that was not tried."""
        action = self._informed().recommend()
        evaluated = [*self._before, *self._evaluations]
        same = self._same(action, evaluated)
        return dict((evaluated[same[0]] if same else self._proposal(action)).point)

    def predict(self, points: Point | Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
        """What the policy expects at points: its mean and the half-width of its band, unit of the outcome.

        Args:
            points: Dicts with a value for every parameter, or one such dict; or a frame with a column for every
                parameter, whose other columns do not matter.

        Returns:
            A row a point, numbered as in the frame if one was given; none for no points, whatever the policy.

        Raises:
            TypeError, ValueError: if a point is out of range, or a column is missing.
            ValueError: if the policy has no model.
        """
        import pandas as pd

        index = None
        if isinstance(points, pd.DataFrame):
            index, points = points.index, self._points_of(points)
        if not len(points):  # policies need not expect empty arrays
            return pd.DataFrame({"mean": [], "half_width": []}, dtype=np.float64)
        points = [points] if isinstance(points, Mapping) else points
        actions = np.array([self._evaluation(point, asked=False).action for point in points])
        X = actions if self._problem.arms is None else self._problem.arms[actions]
        found = self._informed().predict(X)
        if found is None:
            raise ValueError(f"agent: {self._id!r} has no model to predict with")
        mean = (-1.0 if self.minimise else 1.0) * found[0] + self.prior_mean
        return pd.DataFrame({"mean": mean, "half_width": found[1]}, index=index)

    def _points_of(self, frame: pd.DataFrame) -> list[Point]:
        """The points in the rows of a frame."""
        frame = frame.rename(columns=str)
        missing = [name for name in self._names if name not in frame.columns]
        if missing:
            raise ValueError(
                f"points: expected the columns {', '.join(self._names)}, got none named {', '.join(missing)}"
            )
        return frame[list(self._names)].to_dict("records")  # type: ignore[return-value]

    def check(self) -> Check:
        """Whether to believe the model: every outcome predicted from all the others, in numbers and in a sentence.

        It tells of points like those that were evaluated; a policy evaluates most of them where outcomes are good.

        Raises:
            ValueError: if there is no outcome yet, or the policy has no single Gaussian process that it learnt.

        Reference: Rasmussen and Williams (2006), eq. 5.12; kernel, noise and prior mean are learnt from all outcomes.
        """
        import pandas as pd

        from agents.experiment.check import Check, fewest_outcomes, posterior_of
        from gpbandit_envs.gp.leave_one_out import leave_one_out

        agent, posterior = posterior_of(self._informed(), self._id)
        evaluations = [*self._before, *self._evaluations]
        known = [(i, each) for i, each in enumerate(evaluations) if each.number is not None]
        if not known:
            raise ValueError("check: expected at least one outcome, got none yet")
        X = agent.space.coordinates(np.array([each.action for _, each in known]))
        y = np.array([self._reward(each) for _, each in known])
        mean, variance = leave_one_out(posterior.kernel, X, y, posterior.lam, posterior.prior_mean)
        mean = (-1.0 if self.minimise else 1.0) * mean + self.prior_mean
        predictions = pd.DataFrame(
            {"outcome": [each.outcome for _, each in known], "mean": mean, "sd": np.sqrt(variance)},
            index=[i for i, _ in known],
        )
        varying = self.parameters if self.candidates is None else self.candidates.varying
        assert varying is not None
        return Check(
            self.outcome,
            predictions.dropna(),  # what a failure counts as was not measured
            math.sqrt(posterior.lam),
            dict(zip(varying.coordinates, agent.hyperparameters[0].lengthscales, strict=True)),
            fewest_outcomes(agent),
        )

    def results(self) -> pd.DataFrame:
        """One row per evaluation, in order: the parameters, the outcome and its status; data from before come first."""
        import pandas as pd

        rows = [(each, "before") for each in self._before] + [(each, each.status) for each in self._evaluations]
        return pd.DataFrame([{**each.point, self.outcome: each.outcome, _STATUS: status} for each, status in rows])

    def plot(self) -> go.Figure:
        """Outcomes in the order of evaluation with the best so far, and against every parameter, as a Plotly figure.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
        """
        from agents.experiment.plot import outcome_figure

        return outcome_figure(self.results(), self._names, self.outcome, minimise=self.minimise)

    def __repr__(self) -> str:
        if self.candidates is not None:
            tried = {each.action for each in [*self._before, *self._evaluations] if each.status != "withdrawn"}
            n = len(self.candidates.points)
            what = f"{n} candidates, {n - len(tried)} untried, of {', '.join(self.candidates.names)}"
        else:
            assert self.parameters is not None
            what = ", ".join(self.parameters.names)
        counts = {"before": len(self._before)}
        for each in self._evaluations:
            counts[each.status] = counts.get(each.status, 0) + 1
        told = ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "nothing told"
        return f"Experiment({what}; {self._id}; {told})"

    # Files.

    def save(self, path: str | Path) -> Path:
        """Write everything to a JSON file, whole or not at all: what was set up, and every point and outcome in order.

        Raises:
            TypeError: if a setting of the policy has no JSON form.
            OSError: if the file cannot be written.
        """
        where = Path(path)
        problem = self._problem
        setup = {
            "parameters": None if self.parameters is None else [each.to_spec() for each in self.parameters.all],
            "candidates": None
            if self.candidates is None
            else {name: [point[name] for point in self.candidates.points] for name in self.candidates.names},
            "log": [] if self.candidates is None else list(self.candidates.log),
            "agent": [self._id, self._settings],
            "outcome": self.outcome,
            "minimise": self.minimise,
            "seed": self.seed,
            "repeats": self.repeats,
            "on_failure": self.on_failure,
            "horizon": problem.horizon,
            "kernel": None if problem.kernel is None else problem.kernel.to_spec(),
            "noise_std": problem.noise_std,
            "prior_mean": self.prior_mean,
            "data": [{**each.point, self.outcome: each.outcome} for each in self._before],
        }
        content = {
            "format": _FORMAT,
            "schema": _SCHEMA,
            "written_by": __version__,
            "setup": setup,
            "events": self._events,
        }
        try:
            text = json.dumps(content, indent=1, allow_nan=False)
        except TypeError as error:
            raise TypeError(f"agent: expected settings with a JSON form, got {self._settings!r} ({error})") from None
        with written_whole(where) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
        return where

    @classmethod
    def load(cls, path: str | Path) -> Experiment:
        """The experiment in a file of `save`. Its policy plays every step again, so that the next `ask` is the same.

        Where another version of this package would have proposed something else, a warning says so; the points and
        outcomes of the file hold all the same.

        Raises:
            ValueError: if the file is none of `save`, or of a later version.
            OSError: if it cannot be read.
        """
        if Path(path).is_dir():
            raise IsADirectoryError(f"{path}: expected a file written by Experiment.save, got a folder")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            known = content["format"] == _FORMAT
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError, KeyError):
            known = False
        if not known:
            raise ValueError(f"{path}: expected a file written by Experiment.save")
        schema = content.get("schema")
        if schema != _SCHEMA:
            hint = f"; {__version__} is too old for it" if isinstance(schema, int) else ""
            raise ValueError(f"{path}: expected schema {_SCHEMA}, got {schema!r}{hint}")
        setup = content["setup"]
        spec, columns = setup.pop("parameters"), setup.pop("candidates")
        setup["data"] = setup["data"] or None
        id, settings = setup.pop("agent")
        if columns is None:
            parameters = [Parameter.from_spec(entry) for entry in spec]
            lab = cls({parameter.name: parameter for parameter in parameters}, (id, settings), **setup)
        else:
            lab = cls(as_frame("candidates", columns), (id, settings), **setup)
        lab._replay(content["events"], str(path))
        return lab

    def _replay(self, events: list[dict[str, Any]], path: str) -> None:
        same = True
        for i, event in enumerate(events):
            try:
                if "ask" in event:
                    same = self._replay_asked(event) and same
                elif "withdraw" in event:
                    self._evaluations[event["withdraw"]].status = "withdrawn"
                else:
                    self._replay_told(event)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: event {i} (counted from 0): {error}") from error
            self._events.append(event)
        if not same:
            warnings.warn(
                f"{path}: its policy would now have proposed other points; those that were tried are kept", stacklevel=3
            )

    def _replay_asked(self, event: dict[str, Any]) -> bool:
        """Whether the policy proposes what it proposed then; that is kept in any case."""
        recorded = [self._evaluation(point, asked=True) for point in event["ask"]]
        agent = self._informed()
        try:
            new = self._proposals(agent, len(recorded))
        except ValueError:
            new = []
        self._agent, self._told = agent, []
        self._evaluations += recorded
        return [each.point for each in new] == [each.point for each in recorded]

    def _replay_told(self, event: dict[str, Any]) -> None:
        if "point" in event:
            self._evaluations.append(self._evaluation(event["point"], asked=False))
        told = self._evaluations[event["tell"]]
        told.outcome, told.status = event.get("outcome"), "failed" if event.get("failed") else "done"
        self._told.append(event["tell"])


_BATCHES = f"{DEFAULT_AGENT!r}, the default, goes on while points are open"


def _as_agent(agent: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(agent, str):
        return agent, {}
    if (
        isinstance(agent, (tuple, list))
        and len(agent) == 2
        and isinstance(agent[0], str)
        and isinstance(agent[1], Mapping)
    ):
        return agent[0], copy.deepcopy(dict(agent[1]))
    raise TypeError(f"agent: expected an id such as {DEFAULT_AGENT!r}, or a pair of id and settings, got {agent!r}")


@contextmanager
def _row_named(i: int) -> Iterator[None]:
    """Name the row of `data` in its errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"data, row {i} (counted from 0): {error}") from None


def _finite(name: str, value: Any) -> float:
    value = plain(value)
    if not is_number(value) or not abs(value) <= LARGEST:
        hint = "; an evaluation without outcome is told with failed=True" if name != "prior_mean" else ""
        raise ValueError(f"{name}: expected a finite number, got {value!r}{hint}")
    return float(value)


def _near(points: np.ndarray, failed: Sequence[Action]) -> Bool[np.ndarray, " n"]:
    """Which points of the unit cube are close to one that failed."""
    if not failed:
        return np.zeros(len(points), bool)
    return (np.abs(points[:, None] - np.array(failed)[None]).max(axis=2) <= _NEAR).any(axis=1)


def _largest_bound(agent: Agent, X: np.ndarray, rng: np.random.Generator) -> int:
    """Where the upper end of the policy's band is largest; a random row if it has none."""
    found = agent.predict(X)
    return int(rng.integers(len(X))) if found is None else int(np.argmax(found[0] + found[1]))
