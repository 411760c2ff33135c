"""Experiments of one's own, by asking and telling, in true units and names.

`ask` makes a copy of the policy that knows all that has been told, lets it choose around the points that are open, and
keeps the copy; `tell` notes what came of a point.

Beside this file: `setup`, what an experiment begins with; `parameters` and `candidates`, what can be tried; `history`,
what was tried and what came of it; `leave_one_out`, whether to believe the model; `plot`; `file`, what is saved.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from jaxtyping import Bool

from agents.core.protocol import Action, Agent, Feedback, Pending
from agents.core.space import space_of
from agents.experiment import file
from agents.experiment.candidates import Candidates, Table, as_frame, points_in
from agents.experiment.evaluations import Evaluation, as_outcome, row_named
from agents.experiment.history import History
from agents.experiment.parameters import Parameters, Point
from agents.experiment.setup import DEFAULT_AGENT, as_agent, as_choices, begin
from gpbandit_envs.arguments import as_count, as_word
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.kernel_specs import as_kernel
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from agents.experiment.leave_one_out import Check

__all__ = ["Experiment"]

_NEAR = 0.01  # of the range in every coordinate: as close to a failed point of a box, nothing is proposed
_REPLACEMENTS = 1_024  # points of a box among which that for one close to a failed point is chosen
_BATCHES = f"{DEFAULT_AGENT!r}, the default, goes on while points are open"

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
        self.seed, self.prior_mean = as_count("seed", seed, 0), as_outcome("prior_mean", prior_mean)
        self.on_failure = as_word("on_failure", on_failure, get_args(OnFailure))
        self._id, self._settings = as_agent(agent)
        self._choices, known = as_choices(parameters, self.outcome, log)
        if data is None and failures:
            raise ValueError(
                "failures: expected only with data=; in a table of candidates a row without an outcome is one to try"
            )
        self._history = History(
            self._choices, self.outcome, minimise=self.minimise, prior_mean=self.prior_mean, repeats=self.repeats
        )
        failed = []
        for rows in (known, None if data is None else as_frame("data", data)):
            if rows is not None:
                failed += self._history.take_over(rows, bool(failures))
        self._problem = Problem(
            name="the experiment",
            kernel=None if kernel is None else as_kernel(kernel),
            noise_std=noise_std,
            horizon=horizon,
            knowledge="learned",
            initial=self._initial(),
            **self._choices.problem_fields(),
        )
        self._agent = begin(self._id, self._settings, self._problem, self.seed)
        for i, point in failed:
            with row_named(i):
                self.tell(point, failed=True)

    def _initial(self) -> InitialData | None:
        """What is known before the first question, as policies have it."""
        before = self._history.before
        if not before:
            return None
        actions = np.array([each.action for each in before])
        rewards = np.array([self._history.reward(each) for each in before])
        return InitialData(rewards=rewards, **{"points" if self.candidates is None else "arms": actions})

    @property
    def parameters(self) -> Parameters | None:
        """What can be set; None if there is a table of candidates."""
        return self._choices if isinstance(self._choices, Parameters) else None

    @property
    def candidates(self) -> Candidates | None:
        """The candidates; None if there are ranges of parameters."""
        return self._choices if isinstance(self._choices, Candidates) else None

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
        self._agent = agent
        self._history.ask(new)
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
                    f"{self._history.open[0].point!r}; tell or withdraw them; {_BATCHES}"
                )
            action = actions[0] if heeds else self._replaced(agent, actions[0], available, len(new))
            new.append(self._history.proposed(action))
        return new

    def _available(self, new: Sequence[Evaluation]) -> Bool[np.ndarray, " A"] | None:
        """The candidates that may be proposed; None on ranges."""
        if self.candidates is None:
            return None
        available = np.ones(len(self.candidates.points), bool)
        for each in [*self._history.all, *new]:
            if each.status == "failed" or (not self.repeats and each.status != "withdrawn"):
                available[each.action] = False
        return available

    def _replaced(self, agent: Agent, action: Action, available: np.ndarray | None, turn: int) -> Action:
        """The action, or what takes the place of one that is not available."""
        rng = np.random.default_rng([self.seed, len(self._history.own), turn])
        if available is not None:
            if available[action]:
                return action
            left = np.flatnonzero(available)
            return int(left[_largest_bound(agent, self._problem.arms[left], rng)])  # type: ignore[index]
        failed = [each.action for each in self._history.own if each.status == "failed"]
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
        self._history.tell(point, outcome, failed)

    def withdraw(self, point: Mapping[str, Any]) -> None:
        """Say that an open point will not be tried; it may be proposed again.

        Raises:
            ValueError: if it is not open.
        """
        self._history.withdraw(point)

    # What is known.

    def _informed(self) -> Agent:
        """A copy of the policy that knows all that has been told."""
        agent = copy.deepcopy(self._agent, {id(self._problem): self._problem})
        told = [(i, self._history.own[i]) for i in self._history.untold]
        if told:
            self._count_failures([each for _, each in told])
            failed = np.array([each.number is None for _, each in told])
            rewards = np.array([np.nan if each.number is None else self._history.reward(each) for _, each in told])
            actions = np.array([each.action for _, each in told])
            agent.observe(Feedback(np.array([i for i, _ in told]), actions, rewards, np.ones(len(told)), failed))
        return agent

    def _count_failures(self, told: Sequence[Evaluation]) -> None:
        """Let those that failed count as the worst outcome, if that is wanted and there is one."""
        done = [each for each in self._history.all if each.status == "done"]
        if self.on_failure == "worst" and done:
            worst = min(done, key=self._history.reward).outcome
            for each in told:
                each.counts_as = worst if each.status == "failed" else None

    def _pending(self, new: Sequence[Evaluation]) -> Pending:
        open_ = [(i, each.action) for i, each in enumerate([*self._history.own, *new]) if each.status == "open"]
        if not open_:
            return Pending.empty(self._problem)
        return Pending(np.array([i for i, _ in open_]), np.array([action for _, action in open_]))

    @property
    def open(self) -> list[Point]:
        """The points that have been asked and not told, oldest first."""
        return [dict(each.point) for each in self._history.open]

    def best(self) -> tuple[Point, float]:
        """The evaluated point of best outcome, averaged over its repeats, and that outcome.

        Raises:
            ValueError: if nothing has succeeded yet.
        """
        return self._history.best()

    def recommend(self) -> Point:
        """The point that the policy would deploy: on tables it may be one that was not tried."""
        action = self._informed().recommend()
        evaluated = self._history.all
        same = self._history.same(action, evaluated)
        return dict((evaluated[same[0]] if same else self._history.proposed(action)).point)

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
            index, points = points.index, points_in(points, self._choices.names)
        if not len(points):  # policies need not expect empty arrays
            return pd.DataFrame({"mean": [], "half_width": []}, dtype=np.float64)
        points = [points] if isinstance(points, Mapping) else points
        actions = np.array([self._history.stated(point).action for point in points])
        X = actions if self._problem.arms is None else self._problem.arms[actions]
        found = self._informed().predict(X)
        if found is None:
            raise ValueError(f"agent: {self._id!r} has no model to predict with")
        return pd.DataFrame({"mean": self._history.outcomes(found[0]), "half_width": found[1]}, index=index)

    def check(self) -> Check:
        """Whether to believe the model: every outcome predicted from all the others, in numbers and in a sentence.

        It tells of points like those that were evaluated; a policy evaluates most of them where outcomes are good.

        Raises:
            ValueError: if there is no outcome yet, or the policy has no single Gaussian process that it learnt.

        Reference: Rasmussen and Williams (2006), eq. 5.12; kernel, noise and prior mean are learnt from all outcomes.
        """
        from agents.experiment.leave_one_out import check_of

        return check_of(self._informed(), self._id, self._history, self.outcome, self._choices.coordinates)

    def results(self) -> pd.DataFrame:
        """One row per evaluation, in order: the parameters, the outcome and its status; data from before come first."""
        return self._history.table()

    def plot(self) -> go.Figure:
        """Outcomes in the order of evaluation with the best so far, and against every parameter, as a Plotly figure.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
        """
        from agents.experiment.plot import outcome_figure

        return outcome_figure(self.results(), self._choices.names, self.outcome, minimise=self.minimise)

    def __repr__(self) -> str:
        if self.candidates is not None:
            tried = {each.action for each in self._history.all if each.status != "withdrawn"}
            n = len(self.candidates.points)
            what = f"{n} candidates, {n - len(tried)} untried, of {', '.join(self.candidates.names)}"
        else:
            what = ", ".join(self._choices.names)
        return f"Experiment({what}; {self._id}; {self._history})"

    # Files.

    def save(self, path: str | Path) -> Path:
        """Write everything to a JSON file, whole or not at all: what was set up, and every point and outcome in order.

        Raises:
            TypeError: if a setting of the policy has no JSON form.
            OSError: if the file cannot be written.
        """
        setup = {
            "agent": [self._id, self._settings],
            "outcome": self.outcome,
            "minimise": self.minimise,
            "seed": self.seed,
            "repeats": self.repeats,
            "on_failure": self.on_failure,
            "horizon": self._problem.horizon,
            "kernel": None if self._problem.kernel is None else self._problem.kernel.to_spec(),
            "noise_std": self._problem.noise_std,
            "prior_mean": self.prior_mean,
            "data": [{**each.point, self.outcome: each.outcome} for each in self._history.before],
        }
        return file.write(Path(path), self._choices, setup, self._history.events)

    @classmethod
    def load(cls, path: str | Path) -> Experiment:
        """The experiment in a file of `save`. Its policy plays every step again, so that the next `ask` is the same.

        Where another version of this package would have proposed something else, a warning says so; the points and
        outcomes of the file hold all the same.

        Raises:
            ValueError: if the file is none of `save`, or of a later version.
            OSError: if it cannot be read.
        """
        setup, events = file.read(Path(path))
        lab, same = cls(**setup), True
        for i, event in enumerate(events):
            try:
                if "ask" in event:
                    same = lab._ask_again(event) and same
                else:
                    lab._history.note(event)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: event {i} (counted from 0): {error}") from error
        if not same:
            warnings.warn(
                f"{path}: its policy would now have proposed other points; those that were tried are kept", stacklevel=2
            )
        return lab

    def _ask_again(self, event: file.Event) -> bool:
        """Whether the policy proposes what it proposed then; that is kept in any case."""
        then = [self._history.stated(point, asked=True) for point in event["ask"]]
        agent = self._informed()
        try:
            now = self._proposals(agent, len(then))
        except ValueError:
            now = []
        self._agent = agent
        self._history.ask(then)
        return [each.point for each in now] == [each.point for each in then]


def _near(points: np.ndarray, failed: Sequence[Action]) -> Bool[np.ndarray, " n"]:
    """Which points of the unit cube are close to one that failed."""
    if not failed:
        return np.zeros(len(points), bool)
    return (np.abs(points[:, None] - np.array(failed)[None]).max(axis=2) <= _NEAR).any(axis=1)


def _largest_bound(agent: Agent, X: np.ndarray, rng: np.random.Generator) -> int:
    """Where the upper end of the policy's band is largest; a random row if it has none."""
    found = agent.predict(X)
    return int(rng.integers(len(X))) if found is None else int(np.argmax(found[0] + found[1]))
