"""A task as a problem of IOHexperimenter."""

from __future__ import annotations

from typing import Any

import ioh
import numpy as np

from gpbandit_envs.adapters.instance import Instance


def ioh_problem(instance: Instance, number: int, noise: bool) -> Any:
    """See `gpbandit_envs.adapters.to_ioh`."""
    finite, problem = instance.finite, instance.problem

    def value(x: np.ndarray) -> float:
        point = np.asarray(x) if finite else instance.at(x)
        return instance.feedback(point) if noise else float(instance.mean(point[None])[0])

    def optimum(_instance: int, _dimension: int) -> Any:
        solution = ioh.IntegerSolution if finite else ioh.RealSolution
        if instance.best is None or instance.optimum is None:
            return solution([0] * (1 if finite else problem.dim), np.inf)
        best = [int(instance.best[0])] if finite else instance.domain.unit(instance.best[None])[0].tolist()
        return solution(best, instance.optimum)

    return ioh.wrap_problem(
        value,
        name=problem.name.replace("/", "-"),  # loggers make a folder of it
        problem_class=ioh.ProblemClass.INTEGER if finite else ioh.ProblemClass.REAL,
        dimension=1 if finite else problem.dim,
        instance=number,
        optimization_type=ioh.OptimizationType.MAX,
        lb=0,
        ub=problem.n_arms - 1 if finite else 1.0,
        calculate_objective=optimum,
    )
