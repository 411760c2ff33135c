"""Ax, on boxes, tables of candidates and in plates."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.adapters.ask_tell import AskTell
from agents.adapters.base import one_thread
from gpbandit_envs.lazy import optional


class Ax(AskTell):
    """Ax's client over the unit cube, in its defaults; recommends the best measured candidate.

    A trial that was asked for and not played is abandoned, and what was played is attached. Needs the extra `ax`.

    Raises:
        ImportError: if Ax is not installed.

    Reference: Olson et al. (2025), Ax: A Platform for Adaptive Experimentation.
    """

    def __init__(self) -> None:
        _load()

    def start(self, seed: int) -> Any:
        kind, in_range = _load()
        client = kind(random_seed=seed)
        ranges = [in_range(name=f"x{j}", parameter_type="float", bounds=(0.0, 1.0)) for j in range(self.problem.dim)]
        client.configure_experiment(parameters=ranges)
        client.configure_optimization(objective="-loss")
        return client

    def ask_many(self, optimizer: Any, n: int) -> list[Any]:
        asked: list[Any] = []
        while len(asked) < n:  # it gives fewer while its first trials are not told
            with one_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asked += optimizer.get_next_trials(max_trials=n - len(asked)).items()
        return asked

    def point(self, candidate: Any) -> Any:
        return [candidate[1][f"x{j}"] for j in range(self.problem.dim)]

    def candidate(self, optimizer: Any, x: Float[np.ndarray, " d"]) -> Any:
        values = {f"x{j}": value for j, value in enumerate(x.tolist())}
        return optimizer.attach_trial(parameters=values), values

    def drop(self, optimizer: Any, candidate: Any) -> None:
        optimizer.mark_trial_abandoned(candidate[0])

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.complete_trial(candidate[0], raw_data={"loss": loss})


def _load() -> tuple[Any, Any]:
    """Ax's client and its configuration of a range, or an ImportError that says what to install."""
    names = ("ax.api.client", "ax.api.configs", "ax.utils.common.logger")
    client, configs, logger = optional("Ax is not installed", "ax", *names)
    logger.ROOT_STREAM_HANDLER.setLevel(logging.ERROR)  # it says what it does at every step
    return client.Client, configs.RangeParameterConfig
