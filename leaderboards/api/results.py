"""Results of a folder as frames and charts, for a notebook or a script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from gpbandit_envs.arguments import did_you_mean
from leaderboards.play.suite import Suite
from leaderboards.publish.boards import Board, open_results
from leaderboards.score.board_scores import BoardScores, run_scores
from leaderboards.score.comparison import compare, compare_overall
from leaderboards.score.frames import TaskRanking, overall_frame, ranked_among, ranks_frame
from leaderboards.score.rankings import TaskClass
from leaderboards.score.scores import RunScores
from leaderboards.score.statistics import Interval, score_interval
from leaderboards.score.summary import Summary, curve_table, score_table, summarise, with_levels
from leaderboards.score.tasks import name_all
from leaderboards.show import build_page
from leaderboards.show.environment import task_charts
from leaderboards.show.overview import best_found_text
from leaderboards.show.paper import Drawing
from leaderboards.show.shared import Site
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.work.schedule import RunReport

TRACE = ("t", "reward", "mean", "regret", "inference_regret", "batch", "cost")
"""Columns of a trace that every run has; a box has `action_0`, ... besides, finite arms `action`."""

_RUN = ("env", "agent", "seed", "repetition")


class Results:
    """A results folder, read anew by each method: what is played meanwhile counts.

    Args:
        directory: The folder, as `run_suite` or `gpbandit run` left it; or a board, see `leaderboards.board`.
        report: How the runs of the last call ended; None if nothing was played.
        against: A board among whose runs the folder's are to be seen: a name or path as `leaderboards.board` takes
            them, or `"board"` for the package's board of the suite; None for the one that the folder was played
            against, if any.

    Attributes:
        store: The runs, those of the board among them; `FileNotFoundError` where the folder is no more.
        report: How the runs of the last call ended.

    Raises:
        ValueError: if the folder holds no run, or there is no such board.
        StoreError: if the board is damaged.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | Store,
        report: RunReport | None = None,
        *,
        against: str | os.PathLike[str] | None = None,
    ) -> None:
        self._store = directory if isinstance(directory, Store) else open_results(directory, against)
        self.report = report
        self._reduced: dict[str, RunScores] = {}
        if not self._store.keys():
            raise ValueError(f"directory: expected a results folder with runs, got {self.directory} with none")

    @property
    def store(self) -> Store:
        if not self.directory.exists():  # its runs would be none, without a word
            raise FileNotFoundError(
                f"{self.directory}: the results folder was there and is no more, as it was moved, or the working "
                "folder changed; open it where it is, leaderboards.Results(path)"
            )
        return self._store

    @property
    def directory(self) -> Path:
        """The folder."""
        return self._store.directory

    @property
    def suite(self) -> Suite | None:
        """The suite of the folder; None for a folder of single runs."""
        return self.store.suite()

    def ranking(self, task: str | None = None, by: str | None = None) -> pd.DataFrame:
        """Agents from the best to the worst, over all environments or on one of them: the ranking to cite.

        Args:
            task: Name of an environment as on the page; None for all of them.
            by: The criterion, one of `leaderboards.score.rankings.CRITERIA`; by default the suite's, which is
                `"cumulative_regret"`, as a ratio to uniform sampling where that has played, unless it says another.

        Returns:
            One row an agent, which is the index. `rank` is that of its tie group, `best` and `worst` the ranks that the
            tests leave open. Over all environments they are by the `score` that follows, from 0, one uniform draw, to
            100, no regret, which does not depend on who else plays, see `leaderboards.score.board_scores`; its 95 %
            interval `score_low` to `score_high` is on environments like these. Where there is no score, as the optimum
            is unknown, they are by `mean_rank`. Then come `wins`, the mean share of environments won against each other
            policy; `mean_rank` with its 95 % interval `low` to `high`, and `tasks`, on how many environments it rests;
            and the mean final regret on each environment. On one of them come that regret with its interval, `n`, over
            how many repetitions it is, and the mean `score`: of a ranked agent those repetitions that all ranked agents
            have finished. Agents that have not come last, without a rank, with all that they have finished. Where not
            all agents play all environments, ranks are within classes of them: the first column says which, and an
            agent has a row in each class that it plays.

        Raises:
            ValueError: if there is no environment of that name, or `by` is no criterion.
        """
        site = self._site(by)
        return _overall(site) if task is None else _on_task(site, _known(site, task))

    def compare(self, a: str, b: str | Sequence[str], by: str | None = None) -> pd.DataFrame:
        """Paired differences of an agent to one or several others, `a` less `b`: below 0, `a` is better.

        Both meet the same instances and the same noise in a repetition, so that the difference within repetitions has a
        far narrower interval than either agent.

        Args:
            a: Name of an agent as on the page.
            b: Name of the other, or a list of names.
            by: What they are compared by, see `ranking`.

        Returns:
            One row an environment, which is the index, and a last one `overall`. `metric` says what is compared;
            `difference` is its mean over `n` repetitions. Its 95 % interval from `low` to `high` and `p_single` are
            those of the flip test of this pair alone, `leaderboards.score.statistics.flip_test`: `p_single` is below
            0.05 exactly where 0 is outside. `p` is that of the same test, adjusted for all agents in `b`, and no other
            pairs: name those whose comparison your claim rests on before you look. Fewer than six repetitions give no
            `p`, and the interval is unbounded. Overall is the mean difference of the regret ratio over the environments
            of the suite that both have played, each with the same weight, and has no `p`; it is NaN where one of them
            has no ratio. So is an environment without a repetition in common. With a list of names, the name of the
            other agent comes before the environment in the index.

        Raises:
            ValueError: if there is no agent of that name, or one is named twice, or `by` is no criterion.
        """
        site = self._site(by)
        summary = site.summary
        others = [b] if isinstance(b, str) else list(b)
        if not others:
            raise ValueError("b: expected at least one agent, got none")
        for name, agent in (("a", a), *(("b", other) for other in others)):
            if agent not in summary.agents:
                raise ValueError(f"{name}: no agent {agent!r}; {did_you_mean(agent, summary.agents)}")
        named = [a, *others]
        for name in named:
            if named.count(name) > 1:
                raise ValueError(f"b: expected other agents than a, each once, got {name!r} twice")
        rankings = {
            task: None if found is None else ranked_among(found, named, own=[a])
            for task, found in site.rankings.items()
        }
        frames = {other: _differences(summary, rankings, a, other, site.ranked_by) for other in others}
        return frames[b] if isinstance(b, str) else pd.concat(frames, names=["other"])

    def sentence(self, a: str, b: str, by: str | None = None) -> str:
        """What the ranking says of two agents, as text to paste: one sentence a class of environments.

        Args:
            a: Name of an agent as on the page.
            b: Name of another one; the order does not matter.
            by: The criterion, see `ranking`.

        Returns:
            On how many environments the better one has a higher score, the difference of the mean scores with its 95 %
            interval, and p over all pairs of agents; "" where they have no scores in common.

        Raises:
            ValueError: if there is no agent of that name, or `by` is no criterion.
        """
        site = self._site(by)
        for name, agent in (("a", a), ("b", b)):
            if agent not in site.summary.agents:
                raise ValueError(f"{name}: no agent {agent!r}; {did_you_mean(agent, site.summary.agents)}")
        return site.sentence(a, b)

    def runs(self) -> pd.DataFrame:
        """One row a run, see `leaderboards.store.store.Store.runs`, with `env` and `agent` named as on the page.

        Those names are unique: agents of one label and other settings, and environments played with another horizon or
        feedback, are told apart. One run has each `env`, `agent`, `seed` and `repetition`. Behind `env` come the
        arguments that grids of the suite go through.
        """
        frame, entries = self.store.runs(), self.store.entries()
        _, _, names = name_all([entries[str(key)] for key in frame.index], self.suite)
        found = frame.assign(
            env=[names[str(key)][0] for key in frame.index], agent=[names[str(key)][1] for key in frame.index]
        )
        return with_levels(found, "env", {} if self.suite is None else self.suite.levels)

    def traces(self, columns: Sequence[str] = TRACE) -> pd.DataFrame:
        """One row an evaluation of every run that is done, in the order of `runs`; a board keeps no traces.

        Args:
            columns: Columns of the traces, NaN where a run lacks one; see `leaderboards.play.record.TRACE_COLUMNS`,
                and what agents report of themselves.

        Returns:
            `env`, `agent`, `seed` and `repetition`, which name a run as in `runs`, then the columns. Where an optimum
            is unknown, so is the regret.

        Raises:
            TypeError: if `columns` is one text.
            ValueError: if one of them is named as what names a run is.
            StoreError: for a board.
        """
        if isinstance(self.store, Board):
            raise StoreError("a board keeps no traces: take Results.curves() or Board.kept(key), or play its suite")
        if isinstance(columns, str):
            raise TypeError(f"columns: expected a list, got {columns!r}; for one, write [...] around it")
        if taken := [name for name in columns if name in _RUN]:
            raise ValueError(f"columns: expected columns of traces, got {taken[0]!r}, which names the run")
        runs = self.runs()
        frames = {run.key: pd.DataFrame(trace) for run, trace in self.store.traces(list(columns))}
        named = (
            (frames[str(key)], {name: run[name] for name in _RUN}) for key, run in runs.iterrows() if key in frames
        )
        empty = pd.DataFrame(columns=[*_RUN, *columns])
        parts = [frame.assign(**run)[[*empty]] for frame, run in named]
        return pd.concat(parts, ignore_index=True) if parts else empty

    def scores(self) -> pd.DataFrame:
        """Final scores over all finished repetitions, see `leaderboards.score.summary.score_table`."""
        return score_table(self._site().summary)

    def curves(self) -> pd.DataFrame:
        """Means and intervals along the runs over all finished repetitions, see `curve_table` of the same module."""
        return curve_table(self._site().summary)

    def charts(self, task: str | None = None) -> dict[str, Drawing]:
        """The charts of an environment by key, such as `"cumulative_regret"`; a notebook shows each as a picture.

        Args:
            task: Name of the environment as on the page; None if there is only one.

        Raises:
            ValueError: if there is no environment of that name, or several and none is named.
        """
        site = self._site()
        return {chart.key: Drawing(chart, site.styles) for chart in task_charts(site, _known(site, task))}

    def page(self, by: str | None = None, out: str | os.PathLike[str] | None = None) -> Path:
        """Write the page of the folder, as `gpbandit page` does.

        Args:
            by: What agents are ranked by, see `ranking`.
            out: Where to write it; by default into the folder itself, which a board has to be given one for.

        Returns:
            Its file, which a browser opens without a network.

        Raises:
            ValueError: if a board is given no folder.
        """
        return build_page(self.store, ranked_by=by, out=out)

    def _site(self, by: str | None = None) -> Site:
        return Site(summarise(self.store, reduced=self._reduced), ranked_by=by)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.store.runs()["status"].value_counts().items())
        return f"Results({str(self.directory)!r}: {counts})"

    def _repr_html_(self) -> str:
        site = self._site()
        counts = ", ".join(f"{n} {status}" for status, n in site.counts().items())
        notes = [
            f"{task}: the optimum is unknown. {best_found_text(means)}"
            for task, means in site.summary.best_found.items()
        ]
        paragraphs = Markup("").join(Markup("<p>{}</p>").format(text) for text in (f"{site.title}: {counts}", *notes))
        return str(paragraphs + Markup(_overall(site).to_html(float_format="{:.3g}".format, na_rep="–")))


def _differences(summary: Summary, rankings: Mapping[str, TaskRanking | None], a: str, b: str, by: str) -> pd.DataFrame:
    """The rows of `Results.compare` for one other agent."""
    found = {task: compare(summary, task, a, b, rankings[task], by) for task in summary.tasks}
    rows = {
        task: _difference("") if one is None else _difference(one.metric, one.difference, one.p_single, one.p)
        for task, one in found.items()
    }
    over = compare_overall(one for task, one in found.items() if one is not None and summary.tasks[task].in_suite)
    metric = "regret_ratio"
    rows["overall"] = _difference(metric) if over is None else _difference(metric, *over)
    columns = ["metric", "difference", "low", "high", "p_single", "p", "n"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    frame.index.name = "environment"
    return frame


_UNKNOWN = Interval(np.nan, np.nan, np.nan, 0)


def _difference(
    metric: str, found: Interval = _UNKNOWN, p_single: float = np.nan, p: float | None = None
) -> tuple[Any, ...]:
    """A row of `Results.compare`."""
    return metric, found.estimate, found.low, found.high, p_single, np.nan if p is None else p, found.n


def _known(site: Site, task: str | None) -> str:
    tasks = list(site.summary.tasks)
    if task is None and len(tasks) == 1:
        return tasks[0]
    if task not in tasks:
        raise ValueError(f"task: expected one of {', '.join(map(repr, tasks))}, got {task!r}")
    return task


def _overall(site: Site) -> pd.DataFrame:
    if len(site.classes) == 1:
        return _on_class(site, site.classes[0], list(site.summary.agents))
    frames = []
    for one in site.classes:
        agents = [
            name for name in site.summary.agents if any((task, name) in site.summary.scores for task in one.tasks)
        ]
        frame = _on_class(site, one, agents)
        frame.insert(0, "class", one.name)
        frames.append(frame)
    return pd.concat(frames)


def _on_class(site: Site, one: TaskClass, agents: list[str]) -> pd.DataFrame:
    scores, found = site.scores(one.name), site.overall.get(one.name)
    columns = ["rank", "best", "worst", "score", "score_low", "score_high", "wins", "mean_rank", "low", "high", "tasks"]
    frame = pd.DataFrame(index=pd.Index(agents, name="agent"))
    if found is not None:
        frame = frame.join(overall_frame(found))
        frame["tasks"] = len(found.tasks)
    if scores is not None:
        frame = frame.drop(columns=["rank", "best", "worst"], errors="ignore").join(_scores(scores, agents))
    order = [agent for agent in site.cited_order(one.name) if agent in agents]
    frame = frame.reindex(index=pd.Index([*order, *(name for name in agents if name not in order)], name="agent"))
    frame = frame.reindex(columns=columns).astype(dict.fromkeys(columns[:3], "Int64"))
    for task in one.tasks:
        metric, shown = site.metric(task), site.shown.on(task)
        frame[task] = [float(shown[agent].finals[metric].mean()) if agent in shown else np.nan for agent in frame.index]
    return frame


def _on_task(site: Site, task: str) -> pd.DataFrame:
    ranking, scores, metric = site.rankings[task], site.shown.on(task), site.metric(task)
    rows = {}
    for agent in site.summary.agents:
        interval = score_interval(scores[agent].finals[metric]) if agent in scores else None
        ends = (np.nan,) * 3 if interval is None else (interval.estimate, interval.low, interval.high)
        score = float(run_scores(scores[agent], site.ranked_by).mean()) if agent in scores else np.nan
        rows[agent] = (*ends, len(scores[agent]) if agent in scores else 0, score)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[metric, "low", "high", "n", "score"])
    frame.index.name = "agent"
    if ranking is not None:
        frame = ranks_frame(ranking.ranking, ranking.agents).join(frame, how="right")
        frame.index.name = "agent"
        frame["unranked"] = ~frame.index.isin(ranking.agents)
        frame = frame.sort_values(["unranked", metric], kind="stable").drop(columns="unranked")
    return frame


def _scores(found: BoardScores, agents: Sequence[str]) -> pd.DataFrame:
    """Ranks, score and wins of those agents that have them."""
    rows = {agent: i for agent in agents if (i := found.row(agent)) is not None}
    ranks = ranks_frame(found.ranking, found.agents).iloc[list(rows.values())].set_axis(list(rows))
    ranks["score"], ranks["score_low"], ranks["score_high"] = zip(
        *((found.wide[i].estimate, found.wide[i].low, found.wide[i].high) for i in rows.values())
    )
    ranks["wins"] = found.wins[list(rows.values())]
    return ranks
