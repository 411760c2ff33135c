"""A reproduction as files: JSON and CSV to keep, Markdown and HTML to read."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import jinja2
import pandas as pd

from leaderboards.claims.claim import Checked, Verdict
from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, Experiment
from leaderboards.claims.paper_figures import DRAWN
from leaderboards.claims.reproduce import Reproduction
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import LEVEL
from leaderboards.show import palette
from leaderboards.show.format import number, rounded
from leaderboards.store.intact import write_whole

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_KINDS = {
    "experiment": "experiments of the paper",
    "reading": "the same, in other readings of what it leaves open",
    "theorem": "theorems, checked along runs",
    "ours": "tasks or comparisons of ours",
}


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
        "figure": claim.figure.text,
        "range": str(claim.expected),
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


# ---- what the pages say, from the JSON form ----


def interval_text(claim: dict[str, Any]) -> str:
    """`estimate (low to high)`, or a dash; the level of the interval stands beside it where it is not 95 %."""
    if claim["estimate"] is None:
        return "–"
    text = number(claim["estimate"])
    known = claim["low"] is not None and claim["high"] is not None
    level = "" if claim["level"] == LEVEL else f" at {100 * claim['level']:.3g} %"
    return f"{text} ({number(claim['low'])} to {number(claim['high'])}{level})" if known else text


def rows(claims: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims by source, figure and statement; of each of these, and of the range, what the row above does not say."""
    order = {key: list(dict.fromkeys(claim[key] for claim in claims)) for key in ("source", "figure", "statement")}
    found: list[dict[str, Any]] = []
    above = dict.fromkeys([*order, "range"], "")
    for claim in sorted(claims, key=lambda claim: [order[key].index(claim[key]) for key in order]):
        whole = claim | ({"range": "–"} if claim["estimate"] is None else {})
        short = {key: _after(whole[key], above[key]) for key in ("figure", "statement")}
        found.append(claim | short | {key: whole[key] * (whole[key] != above[key]) for key in ("source", "range")})
        above = whole
    return found


def _after(text: str, above: str) -> str:
    """A text without the words that it begins and ends with as the one above does, where these are three or more."""
    if text == above:
        return ""
    words, others = text.split(), above.split()
    first = _shared(words, others, "()")
    last = _shared(words[first:][::-1], others[first:][::-1], ")(")
    return " ".join([*["…"] * bool(first), *words[first : len(words) - last], *["…"] * bool(last)])


def _shared(words: list[str], others: list[str], brackets: str) -> int:
    """How many first words two texts share; 0 if fewer than three. A bracket is not parted from its other half."""
    same = [a == b for a, b in zip(words, others, strict=False)]
    n = [*same, False].index(False)
    while "".join(words[:n]).count(brackets[0]) > "".join(words[:n]).count(brackets[1]):
        n -= 1
    return n if n >= 3 else 0


def notes(claims: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Each sentence of the notes once, with the names of the claims whose notes have it; those of the same together.

    The note of a claim that agrees says no more than its range does.
    """
    names: dict[str, list[str]] = {}
    for claim in claims:
        if claim["note"] and claim["verdict"] != "agrees":
            for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", claim["note"]):
                names.setdefault(sentence, []).append(claim["name"])
    found: dict[tuple[str, ...], list[str]] = {}
    for sentence, about in names.items():
        found.setdefault(tuple(about), []).append(sentence)
    return [(" ".join(sentences), list(about)) for about, sentences in found.items()]


def whose(claim: dict[str, Any], experiment: str) -> str:
    """What stands beside a verdict: whether the task or only the comparison is ours, and how a theorem is judged.

    A theorem is said of every run. Runs are not kept, so the worst of each is judged by its mean over runs.
    """
    if claim["scope"] == "experiment" or claim["estimate"] is None:
        return ""
    if claim["scope"] == "theorem":
        (text,) = (one.figure.text for one in EXPERIMENTS[experiment].claims if one.name == claim["name"])
        return ", by the mean over runs" if re.search(r"\bbound\b|largest over (?!.*\bruns\b)", text) else ""
    return f" {'on a task' if EXPERIMENTS[experiment].scope == 'ours' else 'in a comparison'} of ours"


def tally(claims: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    """How many claims have which of `VERDICTS`, by the kind of claim; the experiments of the paper are always there."""
    counts = Counter((_kind(claim), claim["verdict"]) for claim in claims)
    found = {text: [counts[kind, verdict] for verdict in VERDICTS] for kind, text in _KINDS.items()}
    return {text: numbers for text, numbers in found.items() if sum(numbers) or text == _KINDS["experiment"]}


def _kind(claim: dict[str, Any]) -> str:
    return "reading" if claim["scope"] == "experiment" and claim["reading"] else str(claim["scope"])


def rough(n: int) -> str:
    """A number of repetitions to one digit."""
    return "more than 10,000" if n > 10_000 else f"{int(float(f'{n:.1g}')):,}"


def played(values: dict[str, Any]) -> str:
    """How many repetitions were played: of how many, where rows were cut."""
    least, asked = values["repetitions"], values["repetitions_asked"]
    most = max((row["repetitions"] for row in values["table"]), default=least)
    text = f"{least} to {most}" if least < most else f"{least}"
    if least >= asked:
        return text
    # A row may have more than the experiment states, where its claims need them.
    return f"{text} of {asked}" if most <= asked else f"{text}, where {asked} are stated"


def horizons(values: dict[str, Any]) -> str:
    """How many evaluations the runs have; "" for a study."""
    if values["horizon"] is None:
        return ""
    tasks = () if values["quick"] else load_suite(values["experiment"]).tasks
    found = sorted({task.horizon for task in tasks} or {values["horizon"]})
    return " to ".join(f"{n:,}" for n in dict.fromkeys((found[0], found[-1])))


def settings(name: str) -> str:
    """What an experiment leaves open and how it is settled, as its suite or its study says it."""
    study = EXPERIMENTS[name].study
    if study is not None:
        return inspect.getdoc(sys.modules[study.__module__]) or ""
    text = (resources.files("leaderboards") / "suites" / f"{name}.toml").read_text(encoding="utf-8")
    blocks = itertools.groupby(text.splitlines(), lambda line: line.startswith("# "))
    comments = [" ".join(line[2:] for line in block) for is_comment, block in blocks if is_comment]
    return "\n\n".join([f"{load_suite(name).description} `leaderboards/suites/{name}.toml`:", *comments])


def authors(paper: str) -> str:
    """Who wrote the paper of that key, and when."""
    return PAPERS[paper].partition("), ")[0] + ")"


def markdown(made: Sequence[dict[str, Any]], title: str) -> str:
    """A page of several experiments, from their JSON forms.

    One whose settings are told elsewhere has `see`; `drawn` has what is said of each figure, by the path of its file.
    """
    return _render("claims.md.j2", made=made, title=title)


def drawn_from(name: str, curves: pd.DataFrame) -> list[tuple[str, Callable[[], str]]]:
    """What is said of each figure of an experiment that has curves, and what draws it as SVG."""
    found: list[tuple[str, Callable[[], str]]] = []
    for figure in DRAWN.get(name, ()):
        own = curves[curves["figure"] == figure.figure]
        if len(own):
            n = " to ".join(dict.fromkeys((f"{own['n'].min()}", f"{own['n'].max()}")))
            text = f"{figure.figure} of {authors(EXPERIMENTS[name].paper)}. {figure.told} Here {n} repetitions."
            found.append((text, functools.partial(figure.svg, name, own)))
    return found


def write(made: Reproduction, directory: Path) -> Path:
    """Write `claims.json`, `scores.csv`, `curves.csv`, `claims.md` and `claims.html`; returns the path of the last.

    Each is written whole or not at all.
    """
    values = as_json(made)
    keys = made.experiment.papers
    title = PAPERS[keys[0]] if len(keys) == 1 else "; ".join(map(authors, keys))
    style = (resources.files("leaderboards.show") / "static" / "style.css").read_text(encoding="utf-8")
    hues = "".join(f" --hue{i}: {palette.LIGHT[i]};" for i in range(len(palette.HUES)))
    drawn = drawn_from(made.experiment.name, made.curves)
    texts = {
        "claims.json": json.dumps(values, indent=1, ensure_ascii=False) + "\n",
        "scores.csv": made.table.to_csv(index=False, float_format="%.5g"),
        "curves.csv": made.curves.to_csv(index=False, float_format="%.4g"),
        "claims.md": markdown([{**values, "see": "", "drawn": {}}], title),
        "claims.html": _render("claims.html.j2", one=values, title=title, style=style, hues=hues, drawn=drawn),
    }
    for name, text in texts.items():
        write_whole(directory / name, text, lasting=False)
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
    templates.filters.update(
        {one.__name__: one for one in (authors, horizons, notes, played, rough, rows, settings, tally, whose)}
    )
    templates.filters["interval"] = interval_text
    templates.filters["number"] = lambda x: number(x) if isinstance(x, float) else "–" if x is None else str(x)
    return templates.get_template(template).render(verdicts=VERDICTS, **context)
