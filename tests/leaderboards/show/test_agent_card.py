from __future__ import annotations

import pytest

import agents
from agents import Agent
from leaderboards.play.spec import Ref
from leaderboards.show.agent_card import agent_card, describe_built


def test_an_agent_of_a_run_has_its_words_settings_and_needs() -> None:
    card = agent_card(Ref("GP-UCB", {"width": 2.0}))
    assert card is not None
    assert card.paragraphs[0].startswith("Evaluate `argmax mean_{t-1} + width_t sd_{t-1}`")
    assert any("Algorithm 1" in text for text in card.references)
    given = {one.name: one.value for one in card.arguments if one.given}
    assert given == {"width": "2.0"}
    meanings = {one.name: one.meaning for one in card.arguments}
    assert meanings["lam"].startswith("Noise variance in the posterior; None for the problem's `noise_std ** 2`")
    assert meanings["width"].endswith("or a `WidthSchedule`."), "further lines belong to the argument"
    assert (card.module, card.name) == ("agents.exact.gp_ucb", "GPUCB")
    assert (card.plays, card.batches, card.kernel_is_told) == ("arms and boxes", "sequential", True)


def test_defaults_of_an_id_count_as_given() -> None:
    card = agent_card(Ref("SM-MEI"))
    assert card is not None
    assert {one.name: one.value for one in card.arguments if one.given} == {"policy": "'mei'"}


def test_a_class_that_is_not_loaded_has_no_card() -> None:
    assert agent_card(Ref("nowhere.module:Thing")) is None
    assert agent_card(Ref("object:thing")) is None


@pytest.mark.parametrize("id", list(agents.registered()))
def test_every_agent_has_a_description_that_ends_before_its_arguments(id: str) -> None:
    card = agent_card(Ref(id))
    assert card is not None
    assert card.paragraphs
    assert not any(text.startswith(("Args:", "Attributes:", "Reference", "Raises:")) for text in card.paragraphs)
    assert card.kernel_is_told is not None


@pytest.mark.parametrize("id", list(agents.registered()))
def test_every_argument_says_what_it_is(id: str) -> None:
    """Its own words, or those of the class that it inherits it from."""
    card = agent_card(Ref(id))
    assert card is not None
    assert [one.name for one in card.arguments if not one.meaning] == []


def test_what_says_nothing_is_described_by_its_name() -> None:
    class Silent(Agent):
        def __init__(self, *parts: int, **rest: int) -> None: ...

    Silent.__doc__ = None
    card = describe_built(Silent, {"speed": 3})
    assert card.references == ()
    assert [(one.name, one.value, one.given) for one in card.arguments] == [("speed", "3", True)]
    assert card.kernel_is_told is None
    assert (card.plays, card.batches) == ("", "")
    assert card.name.endswith("Silent")
