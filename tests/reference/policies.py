"""Textbook policies: every score recomputed from scratch at every pick. Line numbers are the papers'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from tests.reference.posterior import dense

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


def enlarged_gp_ucb(
    K: np.ndarray,
    lam: float,
    noise_std: float,
    F: float,
    delta: float,
    enlargement: Callable[[int], float],
    T: int,
    feedback: Feedback,
) -> Play:
    """GP-UCB, the width of Chowdhury and Gopalan (2017) plus `enlargement(t)`, by the t x t formulas at every step."""
    play, y = Play(), np.zeros(0)
    for t in range(1, T + 1):
        arms = play.arms.astype(np.int64)
        mean, var = dense(K, arms, y, lam) if t > 1 else (np.zeros(len(K)), np.diagonal(K))
        gain = 0.5 * np.linalg.slogdet(np.eye(t - 1) + K[np.ix_(arms, arms)] / lam)[1]
        beta = F + noise_std / sqrt(lam) * sqrt(2 * (gain + 1 + log(1 / delta)))
        play.batches.append([int(np.argmax(mean + (beta + enlargement(t)) * np.sqrt(np.maximum(var, 0))))])
        y = np.append(y, feedback(np.array(play.batches[-1])))
    return play


def ec_gp_ucb(
    K: np.ndarray, lam: float, noise_std: float, F: float, delta: float, eps: float, T: int, feedback: Feedback
) -> Play:
    """EC-GP-UCB: the width is larger by `eps sqrt(t) / sqrt(lam)`."""
    return enlarged_gp_ucb(K, lam, noise_std, F, delta, lambda t: eps * sqrt(t) / sqrt(lam), T, feedback)


def irgp_ucb(K: np.ndarray, lam: float, T: int, feedback: Feedback, rng: np.random.Generator) -> Play:
    """IRGP-UCB: the width is the root of a shifted exponential variate of rate 1/2."""
    play, y = Play(), np.zeros(0)
    for t in range(1, T + 1):
        mean, var = dense(K, play.arms, y, lam) if t > 1 else (np.zeros(len(K)), np.diagonal(K))
        zeta = max(2 * log(len(K) / 2) + 2 * rng.standard_exponential(), 0.0)
        play.batches.append([int(np.argmax(mean + sqrt(zeta) * np.sqrt(np.maximum(var, 0))))])
        y = np.append(y, feedback(np.array(play.batches[-1])))
    return play


def gp_ucb_dmm(
    K: np.ndarray,
    lam: float,
    noise_std: float,
    F: float,
    delta: float,
    grid: tuple[float, ...],
    T: int,
    feedback: Feedback,
) -> Play:
    """GP-UCB with the upper bound of DMM, by the t x t formulas at every step."""
    play, y = Play(), np.zeros(0)
    while len(play.arms) < T:
        arms = play.arms.astype(np.int64)
        Kt, upper = K[np.ix_(arms, arms)], np.full(len(K), np.inf)
        logdet = np.linalg.slogdet(np.eye(len(arms)) + Kt / lam)[1]
        radius = lam * y @ np.linalg.solve(Kt + lam * np.eye(len(arms)), y)
        radius += noise_std**2 * (logdet + 2 * log(1 / delta))
        for a in lam * np.array(grid):
            mean, var = dense(K, arms, y, a) if len(arms) else (np.zeros(len(K)), np.diagonal(K))
            square = radius + a * F**2 - a * y @ np.linalg.solve(Kt + a * np.eye(len(arms)), y)
            upper = np.minimum(upper, mean + np.sqrt(square / a) * np.sqrt(np.maximum(var, 0)))
        play.batches.append([int(np.argmax(upper))])
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


def gp_bucb(
    K: np.ndarray, lam: float, noise_std: float, F: float, delta: float, B: int, T: int, feedback: Feedback
) -> Play:
    """GP-BUCB (Algorithm 1) with batches of B and the practical width."""
    play, y = Play(), np.zeros(0)
    while len(play.arms) < T:
        known = play.arms.astype(np.int64)
        mean, start = dense(K, known, y, lam) if len(known) else (np.zeros(len(K)), np.diagonal(K))
        d_eff = start[known].sum() / lam
        width = F + noise_std / sqrt(lam) * sqrt(log(len(known) + 1) * d_eff + log(1 / delta))
        batch: list[int] = []
        while len(batch) < B and len(known) + len(batch) < T:
            pulled = np.append(known, batch).astype(np.int64)
            var = dense(K, pulled, np.zeros(len(pulled)), lam)[1] if len(pulled) else np.diagonal(K)
            batch.append(int(np.argmax(mean + width * np.sqrt(np.maximum(var, 0)))))
        play.batches.append(batch)
        y = np.append(y, feedback(np.array(batch)))
    return play


def bpe(K: np.ndarray, lam: float, width: float, lengths: list[int], full: bool, feedback: Feedback) -> Play:
    """BPE (Algorithm 1) with given batch lengths and a constant width."""
    play, y = Play(), np.zeros(0)
    alive = np.arange(len(K))
    for length in lengths:
        before = play.arms.astype(np.int64) if full else np.zeros(0, np.int64)
        batch: list[int] = []
        for _ in range(length):  # lines 6-10
            pulled = np.append(before, batch).astype(np.int64)
            var = dense(K, pulled, np.zeros(len(pulled)), lam)[1] if len(pulled) else np.diagonal(K)
            batch.append(int(alive[np.argmax(var[alive])]))
        play.batches.append(batch)
        y = np.append(y, feedback(np.array(batch)))  # line 13
        arms, values = (play.arms, y) if full else (np.array(batch), y[-length:])
        mean, var = dense(K, arms, values, lam)  # line 14
        sd = np.sqrt(np.maximum(var, 0))
        alive = alive[(mean + width * sd)[alive] >= (mean - width * sd)[alive].max()]  # line 15
        play.dictionaries.append(alive.tolist())
    return play


def maximum_variance_reduction(K: np.ndarray, lam: float, T: int) -> Play:
    """MVR (Vakili et al. 2021, Algorithm 1)."""
    play = Play()
    for t in range(T):
        var = dense(K, play.arms, np.zeros(t), lam)[1] if t else np.diagonal(K)
        play.batches.append([int(np.argmax(var))])
    return play


def gp_ucb_pe(K: np.ndarray, lam: float, widths: Callable[[int], float], B: int, T: int, feedback: Feedback) -> Play:
    """GP-UCB-PE (Contal et al. 2013, Algorithm 1) with the width `widths(n)` after n evaluations."""
    play, y = Play(), np.zeros(0)
    while len(play.arms) < T:
        known = play.arms.astype(np.int64)
        mean, var = dense(K, known, y, lam) if len(known) else (np.zeros(len(K)), np.diagonal(K))
        sd, width, after = np.sqrt(np.maximum(var, 0)), widths(len(known)), widths(len(known) + B)
        batch = [int(np.argmax(mean + width * sd))]
        region = mean + 2 * after * sd >= (mean - width * sd).max()
        while len(batch) < B and len(known) + len(batch) < T:
            pulled = np.append(known, batch).astype(np.int64)
            var = dense(K, pulled, np.zeros(len(pulled)), lam)[1]
            batch.append(int(np.argmax(np.where(region, var, -np.inf))))
        play.batches.append(batch)
        y = np.append(y, feedback(np.array(batch)))
    return play


def reds(
    K: np.ndarray, lam: float, width: float, lengths: list[int], feedback: Feedback, rng: np.random.Generator
) -> Play:
    """REDS (Salgia et al. 2024) with given epoch lengths and a constant width."""
    play, alive = Play(), np.arange(len(K))
    for length in lengths:
        batch = alive[rng.integers(len(alive), size=length)]
        play.batches.append(batch.tolist())
        mean, var = dense(K, batch, feedback(batch), lam)
        sd = np.sqrt(np.maximum(var, 0))
        alive = alive[(mean + width * sd)[alive] >= (mean - width * sd)[alive].max()]
        play.dictionaries.append(alive.tolist())
    return play


def bpe_delay(
    K: np.ndarray, lam: float, width: float, lengths: list[int], delays: np.ndarray, feedback: Feedback
) -> Play:
    """BPE-Delay (Vakili et al. 2023, Algorithm 1) with given lengths, delays by evaluation and a constant width."""
    play, alive, made = Play(), np.arange(len(K)), 0
    for length in lengths:
        batch: list[int] = []
        for _ in range(length):
            var = dense(K, np.array(batch), np.zeros(len(batch)), lam)[1] if batch else np.diagonal(K)
            batch.append(int(alive[np.argmax(var[alive])]))
        play.batches.append(batch)
        y = np.concatenate([feedback(np.array([arm])) for arm in batch])
        # The evaluation of number s is over, after `delays[s]` further ones, when s + 1 + delays[s] have been made.
        here = np.arange(length) + 1 + delays[made : made + length] <= length
        made += length
        mean, var = dense(K, np.array(batch)[here], y[here], lam)
        sd = np.sqrt(np.maximum(var, 0))
        alive = alive[(mean + width * sd)[alive] >= (mean - width * sd)[alive].max()]
        play.dictionaries.append(alive.tolist())
    return play


def gp_ucb_sdf(
    K: np.ndarray, lam: float, width: float, m: int, shift: float, widened: bool, delays: np.ndarray, feedback: Feedback
) -> Play:
    """GP-UCB-SDF (Verma et al. 2022) with a constant width, as long as there are delays, one an evaluation."""
    play, y = Play(), np.zeros(0)
    for t in range(len(delays)):
        s = np.arange(t)
        censored = np.where(delays[:t] <= np.minimum(m, t - s - 1), y + shift, 0.0)
        mean, var = dense(K, play.arms, censored, lam) if t else (np.zeros(len(K)), np.diagonal(K))
        sd = np.sqrt(np.maximum(var, 0))
        more = sd[play.arms[max(t - m, 0) :].astype(np.int64)].sum() if widened and m else 0.0
        play.batches.append([int(np.argmax(mean + (width + more) * sd))])
        y = np.append(y, feedback(np.array(play.batches[-1])))
    return play


def rgp_ucb(
    K: np.ndarray, lam: float, noise_std: float, F: float, delta: float, C: float, T: int, feedback: Feedback
) -> Play:
    """RGP-UCB: the width is larger by `C / sqrt(lam)`."""
    return enlarged_gp_ucb(K, lam, noise_std, F, delta, lambda _: C / sqrt(lam), T, feedback)


def rgp_pe(
    K: np.ndarray,
    lam: float,
    noise_std: float,
    F: float,
    delta: float,
    C: float,
    psi: float,
    eta: float,
    epochs: int,
    feedback: Feedback,
) -> Play:
    """RGP-PE (Bogunovic et al. 2022, Algorithm 1), pick by pick; its mean is that of eq. 7, of averages."""
    play, alive, length = Play(), np.arange(len(K)), 2
    for h in range(epochs):
        picks: list[int] = []
        sd, since = np.sqrt(np.diagonal(K)), 0.0
        for t in range(1, length + 1):
            picks.append(int(alive[np.argmax(sd[alive])]))
            gain = np.linalg.slogdet(np.eye(t) + K[np.ix_(picks, picks)] / lam)[1]
            if gain > log(eta) + since:
                since = gain
                sd = np.sqrt(np.maximum(dense(K, np.array(picks), np.zeros(t), lam)[1], 0))
        batch: list[int] = []
        for arm in dict.fromkeys(picks):
            batch += [arm] * int(np.ceil(length * max(picks.count(arm) / length, psi) - 1e-9))
        play.batches.append(batch)
        pulls, y = np.array(batch), feedback(np.array(batch))
        averages = np.array([y[pulls == arm].mean() for arm in batch])
        mean, var = dense(K, pulls, averages, lam)
        beta = F + noise_std / sqrt(lam) * sqrt(2 * log(len(K) * (h + 1) ** 2 * np.pi**2 / (6 * delta)))
        W = (beta + C * sqrt(len(batch)) / (length * psi * lam)) * np.sqrt(np.maximum(var, 0))
        alive = alive[(mean + W)[alive] >= (mean - W)[alive].max()]
        play.dictionaries.append(alive.tolist())
        length *= 2
    return play
