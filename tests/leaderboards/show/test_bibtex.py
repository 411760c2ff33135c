"""BibTeX: every paper that an agent cites has its entry, and every entry is cited."""

from __future__ import annotations

import re
from importlib import import_module, resources

import pytest

import agents
from leaderboards.play.spec import Ref
from leaderboards.show.agent_card import agent_card, bibtex, cited

TEXT = (resources.files("agents") / "papers.bib").read_text(encoding="utf-8")
KEYS = re.findall(r"^@\w+\{(\w+),$", TEXT, re.MULTILINE)


def references(id: str) -> tuple[str, ...]:
    import_module(str(agents.spec(id).entry_point).partition(":")[0])
    card = agent_card(Ref(id))
    assert card is not None
    return card.references


def test_the_entries_are_what_the_agents_cite() -> None:
    own = [id for id in agents.registered() if str(agents.spec(id).entry_point).startswith("agents.")]
    cites = {key for id in own for text in references(id) for key in cited(text)}
    assert sorted(cites) == KEYS


@pytest.mark.parametrize("entry", TEXT.split("\n\n")[1:])
def test_an_entry_names_author_title_place_and_the_year_of_its_key(entry: str) -> None:
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
    key = re.findall(r"^@\w+\{(\w+),", entry)[0]
    assert entry.count("{") == entry.count("}")
    assert key == f"{fields['author'].partition(',')[0].lower()}{fields['year']}"
    assert {"title"} < fields.keys()
    assert fields.keys() & {"booktitle", "journal", "howpublished"}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Wang and de Freitas (2014), Theoretical analysis, section 2.", ["wang2014"]),
        (
            'Bergstra and Bengio (2012), Random search; the baseline "Random" of Ha et al. (2023).',
            ["bergstra2012", "ha2023"],
        ),
        ("Ha, Nguyen, Zhang and van den Hengel (2023), Algorithm 1.", ["ha2023"]),
        ("Auer, Cesa-Bianchi and Fischer (2002), Theorem 4 (1999).", ["auer2002"]),
        ("Nothing that was published.", []),
    ],
)
def test_a_citation_is_its_first_author_and_year(text: str, keys: list[str]) -> None:
    assert cited(text) == keys


def test_entries_come_once_in_the_order_of_mention() -> None:
    text = bibtex(
        ["Li and Scarlett (2022), Algorithm 1; Nobody (1900).", "Auer et al. (2002); Li and Scarlett (2022)."]
    )
    assert re.findall(r"^@\w+\{(\w+),", text, re.MULTILINE) == ["li2022", "auer2002"]
    assert bibtex(["Nobody (1900)."]) == ""
