from __future__ import annotations

import pytest

import agents
from agents.presets import BANDWIDTH_SWEEP, PRESETS
from gpbandit_envs.registry import registered


@pytest.mark.parametrize("name", PRESETS)
def test_every_setting_builds_its_agent(name: str) -> None:
    found = agents.preset(name)
    assert found.environment in set(registered())
    for id, kwargs in found.agents.items():
        agents.make(id, **kwargs)
    with pytest.raises(TypeError):
        found.agents["Uniform"] = {}  # type: ignore[index]


def test_table_1_of_bbkb() -> None:
    abalone, cadata = agents.preset("bbkb-abalone").agents, agents.preset("bbkb-cadata").agents
    assert abalone["BBKB"]["kernel"] == {"name": "se", "lengthscale": 17.5}
    assert abalone["GP-UCB"]["kernel"]["lengthscale"] == 5.0
    assert abalone["GP-AUCB"]["kernel"]["lengthscale"] == 12.5
    assert cadata["ASYNC-TS"]["kernel"]["lengthscale"] == 10.0
    assert {abalone["BBKB"]["kernel"]["lengthscale"], 5.0} <= set(BANDWIDTH_SWEEP)


def test_the_nas_experiment_begins_with_2000_random_architectures_or_none() -> None:
    with_data, without = agents.preset("bbkb-nas-initial"), agents.preset("bbkb-nas")
    assert dict(with_data.environment_kwargs) == {"initial": 2000}
    assert dict(without.environment_kwargs) == {}
    assert with_data.agents["BBKB"]["kernel"]["lengthscale"] == 125.0
    assert without.agents["BBKB"]["kernel"]["lengthscale"] == 100.0


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(ValueError, match="name: expected one of bbkb-abalone"):
        agents.preset("bbkb-abalon")
