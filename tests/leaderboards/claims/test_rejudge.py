"""Kept results judged by the claims of today."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leaderboards.claims.claim import LESS, Claim, Figure, at_most
from leaderboards.claims.experiments import Experiment, Quick
from leaderboards.claims.measures import more_regret
from leaderboards.claims.rejudge import rejudged
from tests.leaderboards.claims.test_claim import runs

CLAIM = Claim("less", "Fig. 1", "a has less than b.", more_regret("a", "b", text="difference"), LESS)


def kept(verdict: str, low: float, high: float) -> dict[str, object]:
    claim = {"name": "less", "figure": "difference", "estimate": (low + high) / 2, "low": low, "high": high, "n": 9}
    claim |= {"level": 0.975, "looked": [4, 9]}
    return {"experiment": "e", "claims": [claim | {"verdict": verdict}], "table": [{"agent": "a", "repetitions": 9}]}


def experiment(*claims: Claim) -> Experiment:
    return Experiment("e", "bpe", claims, Quick(1))


def test_the_interval_stays_and_the_range_is_that_of_today() -> None:
    values = kept("agrees", -0.08, -0.02)
    assert rejudged(values, experiment(CLAIM))["claims"][0]["verdict"] == "no difference"
    (claim,) = rejudged(values, experiment(replace(CLAIM, expected=at_most(-0.5))))["claims"]
    assert (claim["verdict"], claim["low"], claim["high"], claim["n"]) == ("disagrees", -0.08, -0.02, 9)
    assert (claim["level"], claim["looked"]) == (0.975, [4, 9])
    (claim,) = rejudged(values, experiment(replace(CLAIM, figure=Figure("difference"), note="None.")))["claims"]
    assert (claim["verdict"], claim["estimate"]) == ("not testable here", None)


def test_a_new_figure_is_measured_or_refused() -> None:
    new = replace(CLAIM, figure=more_regret("a", "b", text="another difference"))
    with pytest.raises(ValueError, match="runs: expected a folder, as 'less' has a figure that is not kept, got none"):
        rejudged(kept("agrees", -0.8, -0.2), experiment(new))
    rng = np.random.default_rng(0)
    made = runs(a=rng.uniform(0.4, 0.5, (5, 6)), b=rng.uniform(0.9, 1.0, (5, 6)))
    values = rejudged(kept("agrees", -0.8, -0.2), experiment(new), made)
    assert values["claims"][0]["n"] == 5
    assert values["claims"][0]["verdict"] == "agrees"
    assert [row["agent"] for row in values["table"]] == ["a", "b"]
    assert values["table"][0]["repetitions"] == 9, "rows that are kept stay"
