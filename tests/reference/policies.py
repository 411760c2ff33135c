"""Textbook policies: every score recomputed from scratch at every pick. Line numbers are the papers'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from tests.reference.posterior import dense, sketched

Feedback = Callable[[np.ndarray], np.ndarray]


@dataclass
class Play:
    """What a textbook policy did: the arms of each batch, and the dictionary after each."""

    batches: list[list[int]] = field(default_factory=list)
    dictionaries: list[list[int]] = field(default_factory=list)

    @property
    def arms(self) -> np.ndarray:
        return np.array([arm for batch in self.batches for arm in batch])


def gp_ucb(K: np.ndarray, lam: float, noise_std: float, F: float, delta: float, T: int, feedback: Feedback) -> Play:
    """GP-UCB with the practical width, by the t x t formula at every step."""
    play, y = Play(), np.zeros(0)
    for t in range(1, T + 1):
        mean, var = dense(K, play.arms, y, lam) if t > 1 else (np.zeros(len(K)), np.diagonal(K))
        d_eff = var[play.arms].sum() / lam if t > 1 else 0.0
        beta = sqrt(lam) * F + noise_std * sqrt(log(t) * d_eff + log(1 / delta))
        ucb = mean + beta / sqrt(lam) * np.sqrt(np.maximum(var, 0))
        play.batches.append([int(np.argmax(ucb))])
        y = np.append(y, feedback(np.array(play.batches[-1])))
    return play


def gp_aucb(
    K: np.ndarray, lam: float, noise_std: float, F: float, delta: float, C: float, rule: str, T: int, feedback: Feedback
) -> Play:
    """GP-AUCB (BBKB paper, Algorithm 2) with the practical width."""
    play, y, log_sum = Play(), np.zeros(0), 0.0
    while len(play.arms) < T:
        known = play.arms.astype(np.int64)
        beta = sqrt(lam) * F + noise_std * sqrt(C * log_sum + log(1 / delta))
        mean, start = dense(K, known, y, lam) if len(known) else (np.zeros(len(K)), np.diagonal(K))
        batch: list[int] = []
        product = total = 1.0
        while len(known) + len(batch) < T:
            pulled = np.append(known, batch).astype(np.int64)
            var = dense(K, pulled, np.zeros(len(pulled)), lam)[1] if len(pulled) else np.diagonal(K)
            arm = int(np.argmax(mean + beta / sqrt(lam) * np.sqrt(np.maximum(var, 0))))
            batch.append(arm)
            product *= 1 + max(var[arm], 0) / lam
            total += max(start[arm], 0) / lam
            if (product if rule == "product" else total) > C:
                break
        log_sum += np.log1p(np.maximum(start[batch], 0) / lam).sum()
        play.batches.append(batch)
        y = np.append(y, feedback(np.array(batch)))
    return play


def bbkb(
    K: np.ndarray,
    lam: float,
    noise_std: float,
    F: float,
    delta: float,
    C: float,
    qbar: float,
    T: int,
    feedback: Feedback,
    rng: np.random.Generator,
) -> Play:
    """BBKB (Algorithm 1) with the practical width; draws as the fast policy does, one uniform number an arm."""
    x1 = [int(a) for a in rng.integers(len(K), size=1)]  # line 1
    play, y, log_sum = Play([x1]), feedback(np.array(x1)), 0.0
    lev = np.diagonal(K) / lam
    order: list[int] = []
    while True:
        batch = play.batches[-1]
        log_sum += np.log1p(lev[batch]).sum()
        order += [a for a in sorted(set(batch)) if a not in order]
        counts = np.array([(play.arms == a).sum() for a in order])
        p = np.minimum(qbar * lev[order], 1)  # line 13
        keep = rng.random(len(order)) < 1 - (1 - p) ** counts  # line 14, for all pulls of an arm at once
        if not keep.any():
            keep[np.argmax(1 - (1 - p) ** counts)] = True
        S = np.array(order)[keep]  # line 15
        play.dictionaries.append(sorted(S.tolist()))
        if len(play.arms) >= T:
            return play
        mean, lev, _ = sketched(K, S, play.arms, y, lam)  # line 18
        lev = np.maximum(lev, 0)
        beta = sqrt(lam) * F + noise_std * sqrt(C * log_sum + log(1 / delta))
        batch, total = [], 1.0
        while len(play.arms) + len(batch) < T:
            now = sketched(
                K, S, np.append(play.arms, batch).astype(np.int64), np.zeros(len(play.arms) + len(batch)), lam
            )
            arm = int(np.argmax(mean + beta * np.sqrt(np.maximum(now[1], 0))))  # line 4
            batch.append(arm)
            total += lev[arm]
            if total > C:  # line 5, with lev for its root
                break
        play.batches.append(batch)
        y = np.append(y, feedback(np.array(batch)))
