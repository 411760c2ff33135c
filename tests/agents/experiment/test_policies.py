"""Every registered policy plays an experiment: batches where it takes them, a failure, and the way through a file."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agents
from agents import Experiment
from tests.contracts.test_agents import VARIANTS, make

PARAMETERS: dict[str, Any] = {
    "finite": pd.DataFrame(list(product("abc", [1, 2, 3, 4], [0.1, 0.2])), columns=["base", "x", "y"]),
    "box": {"x": (0, 4), "base": ["a", "b", "c"]},
}


def outcome(point: dict[str, Any]) -> float:
    return float({"a": 0.0, "b": 1.0, "c": 0.3}[point["base"]] - (point["x"] - 2.5) ** 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* does not use it")
@pytest.mark.parametrize("id", list(agents.registered()))
def test_it_plays_and_is_restored(id: str, tmp_path: Path) -> None:
    settings = VARIANTS.get(id, [{}])[0]
    capabilities = make(id, settings).capabilities
    for domain in sorted(capabilities.domains):
        lab = Experiment(
            PARAMETERS[domain], (id, settings), kernel={"name": "se", "lengthscale": 0.5}, noise_std=0.1, horizon=30
        )
        told = 0
        for turn in range(4):
            batch = [lab.ask()] if capabilities.batch == "sequential" else lab.ask(3)
            for i, point in enumerate(batch):
                if turn == 1 and i == 0:
                    lab.tell(point, failed=True)
                else:
                    lab.tell(point, outcome(point))
            told += len(batch)
        results = lab.results()
        assert len(results) == told >= 4
        assert (results["status"] == "failed").sum() == 1
        assert not results.duplicated(list(PARAMETERS[domain])).any()
        assert lab.best()[1] == results["outcome"].max()
        assert Experiment.load(lab.save(tmp_path / f"{domain}.json")).ask() == lab.ask()
