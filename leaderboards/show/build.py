"""The offline site of a results folder: plain files that open from disk."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gpbandit_envs.atomic import written_whole
from leaderboards.audit.guarantee_board import guarantee_board
from leaderboards.audit.report import audit_reports
from leaderboards.play.processor import one_blas_thread
from leaderboards.score.summary import summarise
from leaderboards.show import palette
from leaderboards.show.agent import agent_page
from leaderboards.show.code import code_page
from leaderboards.show.comparison import comparison_data, comparison_page, script_file
from leaderboards.show.delay_cost import delay_page
from leaderboards.show.environment import environment_page
from leaderboards.show.format import sort_key
from leaderboards.show.guarantee_page import GUARANTEE_FILE, guarantee_page
from leaderboards.show.overview import filtered_charts, filtered_rankings, overview_page
from leaderboards.show.plotting_library import LIBRARY, copy_library
from leaderboards.show.repetitions import repetition_data
from leaderboards.show.shared import COMPARISON_FILE, Site, make_site
from leaderboards.show.where_agents_pull import pull_data
from leaderboards.store.intact import own_folder
from leaderboards.store.store import Store, StoreView

__all__ = ["build_page", "page_templates", "whole_site", "write_site"]

_PAGES = "site"
_CODE = "code"
_ASSETS = ("style.css", "page.js", "charts.js", "pulls.js")
_SCRIPTS = ("compare", "repetitions", "pulls")


@one_blas_thread()
def build_page(
    directory: str | os.PathLike[str] | StoreView,
    theory: bool = True,
    ranked_by: str = "cumulative_regret",
    out: str | os.PathLike[str] | None = None,
    front: Path | None = None,
) -> Path:
    """Write the site of a results folder, by default into the folder itself.

    Args:
        directory: The results folder; or what can be read like one, such as a board, or the two together.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.RANKED_BY`.
        theory: Whether to work out the theory beside the runs, which builds every environment again.
        out: Where to write it; a board, which nothing writes to, needs a folder.
        front: Folder of the front page of several sites, which share the plotting library there; None for a site of
            its own, with the library among its assets.

    Returns:
        The overview, `index.html` in that folder; the other pages and their assets are below `site`.

    Raises:
        ValueError: if the folder holds no run, or `ranked_by` is no such metric, or a board is given no `out`.
        StoreError: if `site` is a link to elsewhere.
    """
    store = directory if isinstance(directory, StoreView) else Store(directory)
    if out is None and not _is_folder(store):
        raise ValueError(f"out: expected a folder for the page of a board, got none for {store.directory}")
    site = whole_site(store, theory, ranked_by)
    return write_site(site, store, store.directory if out is None else Path(out), front)


def _is_folder(store: StoreView) -> bool:
    """Whether results are a folder that is played into, alone or joined with a board."""
    return store.against() is not None or not store.rivals()


def whole_site(
    store: StoreView,
    theory: bool = True,
    ranked_by: str = "cumulative_regret",
) -> Site:
    """The material of all pages of a results folder or board; for the arguments and errors see `build_page`."""
    summary = summarise(store)
    if summary.runs.empty:
        raise ValueError(f"directory: expected a results folder with runs, got {store.directory} with none")
    site = make_site(summary, theory, audit_reports(store, summary), ranked_by)
    if summary.suite is not None and summary.suite.audit is not None:
        rankings = site.rankings if ranked_by == "cumulative_regret" else None
        site = replace(site, guarantees=guarantee_board(store, summary, summary.suite.audit, rankings))
    return site


@one_blas_thread()
def write_site(site: Site, store: StoreView, directory: Path, front: Path | None = None) -> Path:
    """Write the pages of a site.

    Args:
        site: What `whole_site` has found.
        store: Of the same runs.
        directory: Where to write them.
        front: As in `build_page`.

    Returns:
        The overview.

    Raises:
        StoreError: if `site` is a link to elsewhere.
    """
    folder = own_folder(directory / _PAGES)
    places = [folder, *(own_folder(folder / name) for name in (*_SCRIPTS, _CODE))]
    assets = own_folder(folder / "assets")
    _copy_assets(assets)
    if front is None:
        copy_library(assets)
    else:
        (assets / LIBRARY).unlink(missing_ok=True)
    # Not by glob, which is silent about folders that cannot be listed.
    before = {path for place in places for path in place.iterdir() if path.suffix in (".html", ".js")}
    way = None if front is None else Path(os.path.relpath(front, folder)).as_posix()
    written = _Written(folder, {"site": site, "front": way, "library": f"{way or 'assets'}/{LIBRARY}"})
    for task, file in site.task_files.items():
        _write_environment(written, site, store, task, file)
    for agent, file in site.agent_files.items():
        written.page(file, "agent.html.j2", agent_page(site, agent))
    for module, file in site.code_files.items():
        written.page(f"{_CODE}/{file}", "code.html.j2", code_page(site, module), "../", "../../index.html")
    for file in dict.fromkeys(file for _, file in site.delay_files):
        written.page(file, "delay_cost.html.j2", delay_page(site, file))
    if site.guarantees is not None:
        written.page(GUARANTEE_FILE, "guarantee.html.j2", guarantee_page(site, site.guarantees))
    written.page(COMPARISON_FILE, "compare.html.j2", comparison_page(site))
    for first in site.summary.agents:
        # Kept without a prototype: an agent may be named __proto__ or constructor.
        name = f"(window.comparisons ??= Object.create(null))[{embed(first)}]"
        written.script(script_file(site, first), name, comparison_data(site, first))
    written.script("rankings.js", "window.rankingData", _rankings(site))
    for path in before - written.files:
        path.unlink()
    played_in = store.directory if _is_folder(store) else None
    return written.page("../index.html", "index.html.j2", overview_page(site, played_in), f"{_PAGES}/", "index.html")


class _Written:
    """The pages and scripts of a site, as they are written.

    Args:
        folder: Where all but the overview stand.
        shared: What the templates of all pages know.
    """

    def __init__(self, folder: Path, shared: dict[str, Any]) -> None:
        self.folder, self.shared = folder, shared
        self.files: set[Path] = set()

    def page(
        self, file: str, template: str, context: dict[str, Any], base: str = "", home: str = "../index.html"
    ) -> Path:
        """Render one page; `base` leads from it to the folder of the other pages, `home` to the overview."""
        found = page_templates().get_template(template)
        return self._file(file, found.render(self.shared | context, base=base, home=home))

    def script(self, file: str, name: str, data: Any) -> Path:
        """A script that sets a name; its value is parsed as JSON, which is faster for large ones."""
        return self._file(file, f"{name} = JSON.parse({_quoted(dumped(data))});\n")

    def _file(self, file: str, text: str) -> Path:
        path = self.folder.parent / file[3:] if file.startswith("../") else self.folder / file
        with written_whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        self.files.add(path)
        return path


def _write_environment(written: _Written, site: Site, store: StoreView, task: str, file: str) -> None:
    """The page of a task, and the scripts with single repetitions and with pulls."""
    script = file.removesuffix(".html") + ".js"
    repetitions, pulls = repetition_data(site, task), pull_data(site, store, task)
    context = environment_page(site, task) | {"repetition_script": None, "pulls": None}
    context["chart"]["repeated"] = list(repetitions.get("metrics", ()))
    if repetitions:
        context["repetition_script"] = f"repetitions/{script}"
        written.script(f"repetitions/{script}", "window.repetitionData", repetitions)
    if pulls:
        context |= {"pulls": f"pulls/{script}", "pullers": list(pulls["agents"])}
        context |= {"picture": pulls["kind"], "finite": pulls["finite"]}
        written.script(f"pulls/{script}", "window.pullData", pulls)
    written.page(file, "environment.html.j2", context)


def _rankings(site: Site) -> dict[str, Any]:
    """The rankings and charts that filters of the overview leave; the page loads them when one is set."""
    cells: Any = (
        page_templates().get_template("ranking_cells.html.j2").make_module({"base": f"{_PAGES}/"})
    )  # its macros
    data = {}
    for one, subsets, charts in zip(site.classes, filtered_rankings(site), filtered_charts(site)):
        rankings = {
            key: {"basis": f"{basis}.", "rows": [[str(cells.rank(row)), str(cells.mean(row))] for row in rows]}
            for key, (basis, rows) in subsets.items()
        }
        data[one.name] = {"rankings": rankings, "charts": charts}
    return data


@functools.cache
def page_templates() -> jinja2.Environment:
    """The templates of all pages: text is escaped, and a name that is missing is an error."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboards.show", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(embed=embed, prose=prose, key=sort_key)
    templates.globals.update(palette=palette, hues=range(len(palette.HUES)), compare=COMPARISON_FILE)
    return templates


def prose(text: str) -> Markup:
    """Text of a docstring, with what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: they mean something else
        return Markup("{}").format(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if i % 2 else Markup("{}").format(p) for i, p in enumerate(parts)
    )


def embed(value: Any) -> Markup:
    """JSON that may stand inside a `<script>` whatever texts it holds."""
    return Markup(_escaped(dumped(value)))


def _escaped(text: str) -> str:
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _quoted(text: str) -> str:
    """JSON as a string of a script, in single quotes: all of its double ones would need a backslash."""
    return "'" + _escaped(text.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def dumped(value: Any) -> str:
    """The shortest JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _copy_assets(folder: Path) -> None:
    for name in _ASSETS:
        with written_whole(folder / name) as temporary:
            temporary.write_bytes((resources.files("leaderboards.show") / "static" / name).read_bytes())
