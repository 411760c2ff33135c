"""Writes the parts of README.md that are generated: its tables from the registries, its figure from a results folder.

python docs/readme.py                      # the tables
python docs/readme.py --check              # only say whether the tables are current
python docs/readme.py --figure results/quick   # the figure as well
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path

import gymnasium

import agents
from gpbandit_envs.registry import ENVIRONMENTS, TABLE

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "figures" / "quick.png"
DARK_FIGURE = FIGURE.with_stem("quick-dark")


def _summary(documented: object) -> str:
    """The first paragraph of a docstring on one line, without its final stop."""
    paragraph = (inspect.getdoc(documented) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).rstrip(".")


def _source(documented: object, id: str) -> str:
    """The reference of a docstring that is for `id`, as in "Salgia (2024), for REDS"; else the first one."""
    found = re.search(r"References?:\s+(.*?)(?:\.$|\n\n|\Z)", inspect.getdoc(documented) or "", re.DOTALL)
    references = " ".join(found[1].split()).rstrip(".").split("; ") if found else [""]
    named = re.compile(rf", for {re.escape(id)}(?![\w-])")
    return named.sub("", next(filter(named.search, references), references[0]))


def environment_table() -> str:
    """One row an id: what it is and its horizon, under the headings of the registry."""
    rows = ["| id | task | horizon |", "|---|---|---|"]
    group = ""
    for row in (*ENVIRONMENTS, TABLE):
        if row.group != group:
            group = row.group
            rows.append(f"| **{group}** | | |")
        entry_point = gymnasium.envs.registration.load_env_creator(gymnasium.spec(row.id).entry_point)
        rows.append(f"| [`{row.id}`](docs/environments/{row.name}.md) | {_summary(entry_point)} | {row.horizon:,} |")
    return "\n".join(rows)


def agent_table() -> str:
    """One row an id: what it does, how it batches, its source."""
    rows = ["| id | policy | feedback | source |", "|---|---|---|---|"]
    for id in agents.registered():
        spec = agents.spec(id)
        build = spec.load()
        defaults = ", ".join(f"{name}={value!r}" for name, value in spec.kwargs.items())
        batch = build.capabilities.batch  # type: ignore[attr-defined]
        name = f"`{id}`" + (f" ({defaults})" if defaults else "")
        rows.append(f"| {name} | {_summary(build)} | {batch} | {_source(build, id)} |")
    return "\n".join(rows)


def with_tables(text: str) -> str:
    """README text with its tables made anew."""
    for name, table in (("environments", environment_table()), ("agents", agent_table())):
        block = re.compile(rf"(<!-- {name}: .*? -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        text, found = block.subn(lambda m, table=table: m[1] + table + m[2], text)
        if found != 1:
            raise ValueError(f"README.md: expected one block <!-- {name}: ... -->, found {found}")
    return text


def draw(results: Path) -> None:
    """Mean cumulative regret with its 95 % interval, one panel a task; for a light page and for a dark one."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    from leaderboards import Store
    from leaderboards.score.summary import curve_table, summarise
    from leaderboards.show.palette import DARK, LIGHT, line_styles

    summary = summarise(Store(results))
    curves = curve_table(summary)
    curves = curves[curves["metric"] == "cumulative_regret"]
    axes_only = {"axes.spines.top": False, "axes.spines.right": False}
    for path, palette, ink, page in ((FIGURE, LIGHT, "black", "white"), (DARK_FIGURE, DARK, "#cfd0d0", "none")):
        names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        rc = axes_only | dict.fromkeys(names, ink) | {"figure.facecolor": page, "axes.facecolor": page}
        sns.set_theme(style="ticks", context="notebook", rc=rc)
        colours = {agent: palette[style.hue] for agent, style in line_styles(summary.agents).items()}
        fig, axes = plt.subplots(1, len(summary.tasks), figsize=(4.2 * len(summary.tasks), 3.4), layout="constrained")
        for ax, task in zip(axes, summary.tasks, strict=True):
            for agent, colour in colours.items():
                curve = curves[(curves["task"] == task) & (curves["agent"] == agent)]
                ax.plot(curve["t"], curve["mean"], color=colour, label=agent)
                ax.fill_between(curve["t"], curve["low"].clip(lower=0), curve["high"], color=colour, alpha=0.15, lw=0)
            ax.set(title=task, xlabel="evaluations", ylim=(0, None), xlim=(0, None))
        axes[0].set_ylabel("cumulative regret")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(colours), frameon=False)
        path.parent.mkdir(exist_ok=True)
        fig.savefig(path, dpi=110)


def main() -> None:
    """Write what is generated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, metavar="RESULTS", help="draw the figure from this results folder")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is not current")
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    current = with_tables(text)
    if arguments.check:
        sys.exit(0 if text == current else "README.md: its tables are not current; run python docs/readme.py")
    README.write_text(current, encoding="utf-8")
    if arguments.figure:
        draw(arguments.figure)
    sys.stdout.write(f"{README} is up to date\n")


if __name__ == "__main__":
    main()
