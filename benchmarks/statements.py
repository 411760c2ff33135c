"""How often `Experiment.outlook` was right in campaigns on the tasks of lab-v1: `python -m benchmarks.statements`.

A campaign is `agents.Experiment` as it comes, on the candidates of a task, in plates of 8; categories are columns of
text, as a person has them. After 24 and after 48 evaluations it is asked for its outlook at 90 %. *S1*: the recommended
candidate's true value lies in the interval. *S2*: no candidate is better than it by more than the gap. Tasks of one
family, with noise .2 and 1, are counted together. `--seed` is not that of the suite, whose repetitions rank. Called as

    python -m benchmarks.statements 20 --kept statements.csv      # goes on where the file ends
    python -m benchmarks.statements 12 --kept widths.csv --half tuning --wider 1 1.5 1.75 2

The second is how the factor of the intervals was chosen. `benchmarks.honesty` has other models, and rules to stop by.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import agents
from agents.experiment import outlook
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_env
from leaderboards.play.spec import RunSpec, env_seed
from leaderboards.play.suite import EnvironmentEntry, load_suite
from leaderboards.score.statistics import proportion

AT, PLATE, LEVEL = (24, 48), 8, 0.9
FIRST = 16  # evaluations, before which nobody asks whether to stop


def candidates(problem: Problem) -> pd.DataFrame:
    """The arms of a problem without duplicates: numbers, and one column of text for each category that it names."""
    named: Any = problem.notes.get("categories", ())
    arms = np.asarray(problem.arms)
    words = {f"c{i}": [f"level {j}" for j in arms[:, group].argmax(axis=1)] for i, group in enumerate(named)}
    numbers = {f"x{j}": arms[:, j] for j in sorted(set(range(arms.shape[1])).difference(*named))}
    return pd.DataFrame(numbers | words).drop_duplicates()


def plates(spec: RunSpec, evaluations: int) -> Iterator[tuple[int, agents.Experiment, Callable[[Any], float], float]]:
    """After each plate: evaluations, the experiment, by how much the best candidate beats a point, and its value."""
    env = build_env(spec.built, spec.horizon)
    env.reset(seed=env_seed(spec))
    truth: Any = env.unwrapped
    frame = candidates(truth.problem)
    arm_of = frame.index.to_numpy()
    regret = np.asarray(truth.regret(arm_of))
    lab = agents.Experiment(frame, seed=spec.repetition)
    places = {tuple(row): i for i, row in enumerate(frame.itertuples(index=False, name=None))}

    def short(point: Any) -> float:
        return float(regret[places[tuple(point.values())]] - regret.min())

    for n in range(PLATE, evaluations + 1, PLATE):
        for point in lab.ask(PLATE):
            lab.tell(point, float(env.step(int(arm_of[places[tuple(point.values())]]))[1]))
        yield n, lab, short, truth.best_mean
    env.close()


def campaign(spec: RunSpec, factors: Sequence[float]) -> list[dict[str, float]]:
    """What was said after 24 and 48 evaluations with intervals so many times as wide, and what is true."""
    rows = []
    for n, lab, short, best in plates(spec, max(AT)):
        for outlook._WIDER in factors if n in AT else ():
            said = lab.outlook(LEVEL)
            gap = short(said.recommended)
            rows.append(
                {
                    "n": n,
                    "wider": outlook._WIDER,
                    "S1": said.low <= best - gap <= said.high,
                    "S2": gap <= said.gap,
                    "width": said.high - said.low,
                    "gap": said.gap,
                    "true gap": gap,
                }
            )
    return rows


def limits(hits: int, n: int) -> str:
    """A share with its 95 % limits of Clopper and Pearson."""
    share = proportion(hits, n)
    return f"{share.estimate:.2f} ({share.low:.2f} to {share.high:.2f})"


def table(found: pd.DataFrame) -> str:
    """A line a family and number of evaluations, and one for each half."""
    lines = [
        "| half | family | n | wider | campaigns | S1 | S2 | median width | median gap | true |",
        "|" + "---|" * 10,
    ]
    for by in (["half", "family", "n", "wider"], ["half", "n", "wider"]):
        for key, rows in found.groupby(by):
            half, family, n, wider = (key[0], key[1] if len(by) == 4 else "all", *key[-2:])
            shares = [limits(int(rows[name].sum()), len(rows)) for name in ("S1", "S2")]
            medians = [f"{rows[name].median():.2f}" for name in ("width", "gap", "true gap")]
            lines.append(f"| {' | '.join(map(str, (half, family, n, f'{wider:g}', len(rows), *shares, *medians)))} |")
    return "\n".join(lines)


def campaigns(repetitions: int, half: str | None, seed: int, kept: Path) -> Iterator[tuple[dict[str, Any], RunSpec]]:
    """The campaigns that a file does not have: what tells each from others, and its spec; without those lacking data.

    A family's tasks take turns. `half` is of the suite; None for both.
    """
    suite = load_suite("lab-v1")
    tasks: dict[str, list[EnvironmentEntry]] = {}
    for entry in [entry for entry in suite.environments if entry.half == (half or entry.half)]:
        tasks.setdefault(entry.ref.label.split(",")[0], []).append(entry)
    there = pd.read_csv(kept) if kept.exists() else pd.DataFrame({"task": [], "repetition": []})
    done = set(zip(there["task"], there["repetition"], strict=True))
    for repetition in range(repetitions):
        for family, entries in tasks.items():
            entry = entries[repetition % len(entries)]
            if (entry.ref.label, repetition) in done:
                continue
            alone = entry.model_copy(update={"repetitions": repetitions})
            specs = suite.model_copy(update={"environments": (alone,), "seed": seed}).specs()
            spec = next(each for each in specs if each.repetition == repetition)
            try:
                build_env(spec.built, spec.horizon).close()
            except OSError as error:
                print(f"{entry.ref.label}: {error}", flush=True)  # its data are not here
                continue
            yield {"half": entry.half, "family": family, "task": entry.ref.label, "repetition": repetition}, spec


def keep(rows: list[dict[str, Any]], kept: Path) -> None:
    """Append rows to a file."""
    pd.DataFrame(rows).to_csv(kept, mode="a", header=not kept.exists(), index=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repetitions", type=int, nargs="?", default=20, help="campaigns a family")
    parser.add_argument("--kept", type=Path, default=Path("statements.csv"))
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--half", choices=["tuning", "held out"], help="by default both")
    parser.add_argument("--wider", type=float, nargs="+", default=[outlook._WIDER], help="factors of the intervals")
    given = parser.parse_args()
    for same, spec in campaigns(given.repetitions, given.half, given.seed, given.kept):
        keep([same | row for row in campaign(spec, given.wider)], given.kept)
    print(table(pd.read_csv(given.kept)))


if __name__ == "__main__":
    main()
