"""A reproduction as files: JSON and CSV to keep, Markdown and HTML to read."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from gpbandit_envs.atomic import written_whole
from leaderboards.claims.claim import Checked
from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, Experiment
from leaderboards.claims.families import Family, families, joint_sentences
from leaderboards.claims.reproduce import Reproduction
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import LEVEL
from leaderboards.show import palette
from leaderboards.show.format import number, rounded

__all__ = [
    "as_json",
    "authors",
    "claim_as_json",
    "horizons",
    "interval_text",
    "looked",
    "markdown",
    "of_paper",
    "played",
    "rough",
    "write",
]

_STYLE = "style.css"
_MOST_ROWS = 100  # of a table on a page that is to be read
_LEGEND = """\
A verdict is read off the 95 % interval over repetitions; where a look at it has led to more repetitions, off a wider
one, whose level is stated. Where a paper puts one thing before another, and all of the
interval lies within a tenth of a tie, there is *no difference*. Else it *agrees* if all of the interval lies in the
range that the statement means, *disagrees* if all of it lies outside, and *cannot be told* otherwise. What words mean,
and what counts as an experiment of the paper, is [the same for all papers](../guides/verdicts.md)."""


def as_json(made: Reproduction) -> dict[str, Any]:
    """The content of the pages as plain values; numbers to 4 digits, None if unknown."""
    return {
        "experiment": made.experiment.name,
        "papers": [PAPERS[key] for key in made.experiment.papers],
        "quick": made.quick,
        "horizon": made.horizon,
        "repetitions": made.played,
        "repetitions_asked": made.planned,
        "command": _command(made),
        "claims": [claim_as_json(one, made.experiment, made.complete) for one in made.checked],
        "table": [
            {name: rounded(value) if isinstance(value, float) else value for name, value in row.items()}
            for row in made.table.to_dict(orient="records")
        ],
    }


def _command(made: Reproduction) -> str:
    most = int(made.table["repetitions"].max()) if len(made.table) else made.played
    more = f" --repetitions {most}" if most > made.planned else ""
    return f"gpbandit reproduce {made.experiment.name}{' --quick' if made.quick else ''}{more}"


def looked(path: Path, name: str, quick: bool) -> dict[str, list[int]]:
    """By name of the claim, at how many repetitions it was judged before, as a file `claims.json` has it.

    Raises:
        ValueError: if the file is of another experiment, or of the other form of this one.
    """
    if not path.exists():
        return {}
    values = json.loads(path.read_text(encoding="utf-8"))
    held = f"{values.get('experiment')}{' --quick' if values.get('quick') else ''}"
    if held != f"{name}{' --quick' if quick else ''}":
        raise ValueError(f"{path.parent} holds the claims of {held}; give another --out")
    return {claim["name"]: claim.get("looked", []) for claim in values["claims"]}


def claim_as_json(one: Checked, experiment: Experiment, complete: bool = True) -> dict[str, Any]:
    """A claim of an experiment with its verdict as plain values; looking before all is played is no look."""
    claim, interval = one.claim, one.interval
    return {
        "name": claim.name,
        "source": claim.source,
        "statement": claim.statement,
        "figure": claim.figure,
        "range": "above 0" if 0 < claim.low < 1e-300 else claim.range,
        "estimate": rounded(interval.estimate),
        "low": rounded(interval.low),
        "high": rounded(interval.high),
        "n": interval.n,
        "level": rounded(interval.level),
        "looked": [*one.looked, *([interval.n] if complete and interval.n else [])],
        "verdict": one.verdict,
        "needs": one.needs,
        "reading": claim.reading,
        "scope": claim.scope,
        "note": claim.note,
        "paper": claim.paper or experiment.paper,
    }


def interval_text(claim: dict[str, Any]) -> str:
    """`estimate (low to high)`, or a dash; the level of the interval stands beside it where it is not 95 %."""
    if claim["estimate"] is None:
        return "–"
    text = number(claim["estimate"])
    known = claim["low"] is not None and claim["high"] is not None
    level = "" if claim["level"] == LEVEL else f" at {100 * claim['level']:.3g} %"
    return f"{text} ({number(claim['low'])} to {number(claim['high'])}{level})" if known else text


def by_source(claims: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Claims, in their order, by the figure or section that they are from."""
    found: dict[str, list[dict[str, Any]]] = {}
    for claim in claims:
        found.setdefault(claim["source"], []).append(claim)
    return list(found.items())


def by_note(claims: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Each sentence of the notes once, with the names of the claims whose notes have it; those of the same together."""
    names: dict[str, list[str]] = {}
    for claim in claims:
        for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", claim["note"]) if claim["note"] else ():
            names.setdefault(sentence, []).append(claim["name"])
    found: dict[tuple[str, ...], list[str]] = {}
    for sentence, about in names.items():
        found.setdefault(tuple(about), []).append(sentence)
    return [(" ".join(sentences), list(about)) for about, sentences in found.items()]


_PARTS = (
    ("What replicates", "experiment", False, "Experiments of the paper."),
    (
        "In other readings",
        "experiment",
        True,
        "Experiments of the paper in further readings of what it leaves open; they do not count as replications.",
    ),
    ("What is proven, along runs", "theorem", None, "Statements with a proof, checked along runs."),
    ("On tasks of ours", "ours", None, "Tasks, stand-ins for data, or comparisons that the paper does not have."),
)


def parts(made: Sequence[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Heading and explanation of each part of the findings, with the experiments that have claims of it."""
    found = []
    for heading, scope, is_reading, text in _PARTS:
        those = [
            {
                **one,
                "claims": [
                    claim
                    for claim in one["claims"]
                    if claim["scope"] == scope and (is_reading is None or bool(claim["reading"]) == is_reading)
                ],
            }
            for one in made
        ]
        if heading == _PARTS[0][0] and not any(one["claims"] for one in those):
            text = "No experiment of the paper is played here: what follows counts as no replication of it."
        if any(one["claims"] for one in those) or heading == _PARTS[0][0]:
            found.append((heading, text, those))
    return found


def findings(made: Sequence[dict[str, Any]], verdict: str) -> list[tuple[str, dict[str, list[dict[str, Any]]]]]:
    """What the claims with that verdict say, in few sentences, each with its claims by where they were checked."""
    checked: dict[str, dict[str, dict[str, Any]]] = {}
    for one in made:
        for claim in one["claims"]:
            if claim["verdict"] == verdict:
                where = f"{one['experiment']}{', ' * bool(claim['reading'])}{claim['reading']}"
                checked.setdefault(claim["statement"], {})[where] = claim
    alike: dict[tuple[str, ...], list[str]] = {}
    for statement, claims in checked.items():
        alike.setdefault(tuple(claims), []).append(statement)
    found = []
    for places, statements in alike.items():
        for sentence, members in joint_sentences(statements):
            said = [statements[i] for i in members]
            found.append((sentence, {place: [checked[statement][place] for statement in said] for place in places}))
    order = list(checked)
    return sorted(found, key=lambda item: order.index(next(iter(item[1].values()))[0]["statement"]))


def rows_of(claims: Sequence[dict[str, Any]]) -> list[tuple[Family, list[dict[str, Any]]]]:
    """The claims of a table in families of which all have one figure, range and reading."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for claim in claims:
        alike.setdefault((claim["reading"], claim["range"]), []).append(claim)
    found = []
    for group in alike.values():
        for family in families([claim["statement"] for claim in group]):
            members = [group[i] for i in family.members]
            if family.without_names([claim["figure"] for claim in members]) is None:
                found += [(Family(claim["statement"], "", (), (0,)), [claim]) for claim in members]
            else:
                found.append((family, members))
    return sorted(found, key=lambda item: claims.index(item[1][0]))


def rough_range(claims: Sequence[dict[str, Any]]) -> str:
    """How many repetitions would tell, over some claims; "" if that is not known."""
    if not all(claim["needs"] for claim in claims):
        return ""
    needed = sorted(claim["needs"] for claim in claims)
    return " to ".join(dict.fromkeys(rough(n) for n in (needed[0], needed[-1])))


def rough(n: int) -> str:
    """A number of repetitions to one digit."""
    return "more than 10,000" if n > 10_000 else f"{int(float(f'{n:.1g}')):,}"


def played(values: dict[str, Any]) -> str:
    """How many repetitions were played, from the JSON form: of how many, where rows were cut."""
    least, asked = values["repetitions"], values["repetitions_asked"]
    most = max((row["repetitions"] for row in values["table"]), default=least)
    text = f"{least} to {most}" if least < most else f"{least}"
    if least >= asked:
        return text
    # A row may have more than the experiment states, where its claims need them.
    return f"{text} of {asked}" if most <= asked else f"{text}, where {asked} are stated"


def horizons(values: dict[str, Any]) -> str:
    """How many evaluations the runs of the JSON form have; "" for a study."""
    if values["horizon"] is None:
        return ""
    tasks = () if values["quick"] else load_suite(values["experiment"]).tasks
    found = sorted({task.horizon for task in tasks} or {values["horizon"]})
    return " to ".join(f"{n:,}" for n in dict.fromkeys((found[0], found[-1])))


def settings(values: dict[str, Any]) -> str:
    """What the experiment leaves open and how it is settled, as its suite or its study says it."""
    study = EXPERIMENTS[values["experiment"]].study
    if study is not None:
        return inspect.getdoc(sys.modules[study.__module__]) or ""
    name = f"{values['experiment']}.toml"
    text = (resources.files("leaderboards") / "suites" / name).read_text(encoding="utf-8")
    blocks = [" ".join(line[2:] for line in block) for block in _comments(text.splitlines())]
    return "\n\n".join([f"{load_suite(values['experiment']).description} `leaderboards/suites/{name}`:", *blocks])


def _comments(lines: Sequence[str]) -> list[list[str]]:
    """The blocks of whole lines of comment."""
    blocks = itertools.groupby(lines, lambda line: line.startswith("# "))
    return [list(block) for is_comment, block in blocks if is_comment]


def markdown(made: Sequence[dict[str, Any]], title: str) -> str:
    """A page of several experiments, from their JSON forms."""
    return _render("claims.md.j2", made=made, title=title)


def authors(paper: str) -> str:
    """Who wrote the paper of that key, and when."""
    return PAPERS[paper].partition("), ")[0] + ")"


def of_paper(values: dict[str, Any], paper: str) -> dict[str, Any]:
    """The JSON form of an experiment with the claims of one paper alone."""
    return {
        **values,
        "papers": [PAPERS[paper]],
        "claims": [claim for claim in values["claims"] if claim["paper"] == paper],
    }


def write(made: Reproduction, directory: Path) -> Path:
    """Write `claims.json`, `scores.csv`, `claims.md` and `claims.html`, each whole or not at all; returns the last."""
    values = as_json(made)
    assert not any(isinstance(x, float) and not math.isfinite(x) for x in values.values())
    keys = made.experiment.papers
    title = PAPERS[keys[0]] if len(keys) == 1 else "; ".join(map(authors, keys))
    style = (resources.files("leaderboards.show") / "static" / _STYLE).read_text(encoding="utf-8")
    hues = "".join(f" --hue{i}: {palette.LIGHT[i]};" for i in range(len(palette.HUES)))
    texts = {
        "claims.json": json.dumps(values, indent=1, ensure_ascii=False) + "\n",
        "scores.csv": made.table.to_csv(index=False, float_format="%.5g"),
        "claims.md": markdown([values], title),
        "claims.html": _render("claims.html.j2", made=[values], title=title, style=style, hues=hues),
    }
    for name, text in texts.items():
        with written_whole(directory / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return directory / "claims.html"


def _render(template: str, **context: Any) -> str:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboards.claims", "templates"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["interval"] = interval_text
    templates.filters["authors"] = authors
    templates.filters["by_source"] = by_source
    templates.filters["by_note"] = by_note
    templates.filters["rough"] = rough
    templates.filters["played"] = played
    templates.filters["horizons"] = horizons
    templates.filters["settings"] = settings
    templates.filters["is_uneven"] = lambda values: len({row["repetitions"] for row in values["table"]}) > 1
    templates.filters["rough_range"] = rough_range
    templates.filters["rows_of"] = rows_of
    templates.filters["reading"] = lambda claim: f" *({claim['reading']})*" if claim["reading"] else ""
    templates.filters["expected"] = lambda claim: "–" if claim["estimate"] is None else claim["range"]
    templates.filters["plain"] = lambda text: re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text.replace("*", ""))
    templates.globals["findings"] = findings
    templates.globals["parts"] = parts
    templates.globals["most_rows"] = _MOST_ROWS
    templates.globals["legend"] = _LEGEND
    templates.filters["number"] = lambda x: "–" if x is None else number(x) if isinstance(x, float) else str(x)
    return templates.get_template(template).render(context)
