"""Functions drawn by a seed, of known norm and known maximum, with noise."""

from __future__ import annotations

from typing import Any

from gpbandit_envs.adapters.instance import Instance
from gpbandit_envs.adapters.optunahub_problem import OptunaHubProblem

FUNCTIONS = ("GPSample", "RKHS", "Branin", "Hartmann3", "Hartmann6", "Cosines", "Rosenbrock")
_ON_ARMS = ("GPSample", "RKHS")  # which are drawn on the whole cube where they have no arms


class Problem(OptunaHubProblem):
    """One function on a box, to be maximised; every evaluation is noisy.

    Args:
        function: One of `FUNCTIONS`.
        seed: Draws the function and its noise.
        settings: Further keywords of the environment, such as `dim=3`, `lengthscale=0.2` or `noise_std=0.1`.

    Raises:
        ValueError: if there is no such function.
    """

    def __init__(self, function: str = "RKHS", seed: int = 0, **settings: Any) -> None:
        if function not in FUNCTIONS:
            raise ValueError(f"function: expected one of {', '.join(FUNCTIONS)}, got {function!r}")
        box = {"n_arms": None} if function in _ON_ARMS else {}
        super().__init__(Instance(f"GPBandit/{function}-v0", seed, {**box, **settings}))
