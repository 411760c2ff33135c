"""Which policy is the default of `agents.Experiment`: rivals on the half of lab-v1 that is for tuning.

Six plates of eight of each task, no candidate twice, with another seed than the suite; all play the same draws with the
same noise. Prints a table in Markdown, in which figures are mean and standard error of the regret of the recommended
candidate after 24 and 48 evaluations, in units of the task. Those of the mean over tasks are of the repetitions' means,
and differences from the first rival are paired. Called as

    python -m benchmarks.short_horizons --repetitions 16

The data sets are fetched at first use, as by `gpbandit data fetch`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from agents.learned.gp_bucb import MAPBUCB
from gpbandit_envs.gp.hyperparameters import HyperPrior, LogNormal
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.run import run_spec
from leaderboards.play.suite import AgentEntry, load_suite

AT = (24, 48)
_SEED = 1  # not that of the suite


@dataclass(kw_only=True, eq=False, repr=False)
class Half(MAPBUCB):
    """MAP-BUCB with narrower priors, and lengthscales around 0.5."""

    def default_prior(self, dim: int) -> HyperPrior:
        return HyperPrior(LogNormal(0.0, 0.7), LogNormal(-4.0, 1.2), LogNormal(log(self.median(dim)), 0.7))

    def median(self, dim: int) -> float:
        """Of the prior of lengthscales."""
        return 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class Root(Half):
    """The same, around `0.4 sqrt(d)`."""

    def median(self, dim: int) -> float:
        return 0.4 * sqrt(dim)


RIVALS = {
    "MAP, width 1": ("MAP-BUCB", 1.0),
    "MAP, width 1, one-hot": ("MAP-BUCB", 1.0),
    "MAP, width 2": ("MAP-BUCB", 2.0),
    "MAP, width 2, lengthscale 0.5": ("benchmarks.short_horizons:Half", 2.0),
    "MAP, width 2, lengthscale 0.4 sqrt(d)": ("benchmarks.short_horizons:Root", 2.0),
    "mixture, width 2": ("agents.learned.gp_bucb:MixtureBUCB", 2.0),
    "mixture, width 1": ("agents.learned.gp_bucb:MixtureBUCB", 1.0),
}


@one_blas_thread()
def regrets(task: str, rivals: list[str], repetitions: int) -> np.ndarray:
    """The regret of each rival's recommendation at `AT`, shape (rivals, repetitions, 2)."""
    suite = load_suite("lab-v1")
    entries = [
        AgentEntry(
            id=RIVALS[name][0],
            label=name,
            kwargs={"width": RIVALS[name][1], "repeats": False, "categories": "one-hot" not in name},
        )
        for name in rivals
    ]
    environments = tuple(entry for entry in suite.environments if entry.ref.label == task)
    settings = {"agents": tuple(entries), "horizon": AT[-1], "repetitions": repetitions, "seed": _SEED}
    found = np.full((len(rivals), repetitions, len(AT)), np.nan)
    for spec in suite.model_copy(update={"environments": environments, **settings}).specs():
        record = run_spec(spec)
        if record.status != "done":
            raise RuntimeError(f"{spec.agent.label} on {task}: {record.status}, {record.reason}")
        recommended = record.trace["inference_regret"].to_numpy()
        found[rivals.index(spec.agent.label), spec.repetition] = recommended[np.array(AT) - 1]
    return found


def cell(values: np.ndarray) -> str:
    """Mean and standard error, for each of `AT`, of values of shape (repetitions, 2)."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return ", ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in zip(values.mean(axis=0), errors, strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=16, help="at least 2")
    parser.add_argument("--tasks", nargs="+", metavar="LABEL", help="by default all of that half")
    parser.add_argument("--rivals", nargs="+", choices=list(RIVALS), default=list(RIVALS))
    chosen = parser.parse_args()
    print("| task | " + " | ".join(chosen.rivals) + " |\n|---|" + "---|" * len(chosen.rivals))
    every = []
    for entry in load_suite("lab-v1").environments:
        if entry.half == "tuning" and entry.ref.label in (chosen.tasks or [entry.ref.label]):
            every.append(regrets(entry.ref.label, chosen.rivals, chosen.repetitions))
            print(f"| {entry.ref.label} | " + " | ".join(map(cell, every[-1])) + " |", flush=True)
    mean = np.mean(every, axis=0)
    print("| mean over tasks | " + " | ".join(map(cell, mean)) + " |")
    print("| less the first, paired | " + " | ".join(map(cell, mean - mean[0])) + " |")


if __name__ == "__main__":
    main()
