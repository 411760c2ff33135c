"""Campaigns of BayBE, on tables of candidates and in plates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.adapters.ask_tell import AskTell
from agents.adapters.base import one_thread
from agents.core.protocol import Capabilities
from gpbandit_envs.lazy import optional


class BayBE(AskTell):
    """A campaign of BayBE over the candidates, with its default recommenders; recommends the best measured candidate.

    Candidates are one discrete parameter whose descriptors are the features that differ, and none is repeated. Needs
    the extra `baybe`.

    Raises:
        ImportError: if BayBE is not installed.

    Reference: Fitzner et al. (2025), BayBE: a Bayesian Back End for experimental planning in the low-to-no-data regime.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def __init__(self) -> None:
        _load()

    def start(self, seed: int) -> Any:
        import pandas as pd

        baybe = _load()
        arms = np.unique(self._all_arms, axis=0)
        differ = arms[:, np.ptp(arms, axis=0) > 0]
        table = pd.DataFrame(differ, index=[str(i) for i in range(len(arms))]).add_prefix("x")
        parameter = baybe.parameters.CustomDiscreteParameter(name="arm", data=table, decorrelate=False)
        target = baybe.targets.NumericalTarget("loss", minimize=True)
        campaign = baybe.Campaign(
            parameter.to_searchspace(), target.to_objective(), allow_recommending_already_measured=False
        )
        return _Running(campaign, arms, np.random.default_rng(seed))

    def ask_many(self, optimizer: _Running, n: int) -> list[Any]:
        import pandas as pd

        if n == 0:
            return []
        _load()
        from baybe.utils.random import temporary_seed

        pending = pd.DataFrame({"arm": optimizer.open}) if optimizer.open and optimizer.n_told else None
        with temporary_seed(int(optimizer.rng.integers(2**31))), one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = optimizer.campaign.recommend(n, pending_experiments=pending)["arm"].tolist()
        optimizer.open += asked
        return [optimizer.arms[int(arm)] for arm in asked]

    def candidate(self, optimizer: _Running, x: Float[np.ndarray, " d"]) -> Any:
        return x

    def tell(self, optimizer: _Running, candidate: Any, loss: float) -> None:
        import pandas as pd

        arm = str(int(np.abs(optimizer.arms - candidate).sum(axis=1).argmin()))
        optimizer.open = [name for name in optimizer.open if name != arm]
        optimizer.n_told += 1
        optimizer.campaign.add_measurements(pd.DataFrame({"arm": [arm], "loss": [loss]}))


class _Running:
    """A campaign with its candidates, those that are open, and random numbers."""

    def __init__(self, campaign: Any, arms: np.ndarray, rng: np.random.Generator) -> None:
        self.campaign, self.arms, self.rng = campaign, arms, rng
        self.open: list[str] = []
        self.n_told = 0


def _load() -> Any:
    return optional("BayBE is not installed", "baybe", "baybe")[0]
