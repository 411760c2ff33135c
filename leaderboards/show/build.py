"""The offline site of a results folder: plain files that open from disk."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.audit.report import audit_reports
from leaderboards.score.answer import legend
from leaderboards.score.summary import summarise
from leaderboards.show import palette
from leaderboards.show.agent import agent_page
from leaderboards.show.comparison import comparison_data, comparison_page, script_file
from leaderboards.show.delay_cost import delay_page
from leaderboards.show.environment import environment_page, repetition_data
from leaderboards.show.format import sort_key
from leaderboards.show.overview import filtered_charts, filtered_rankings, overview_page
from leaderboards.show.shared import COMPARISON_FILE, Site
from leaderboards.store.intact import own_folder, write_whole
from leaderboards.store.store import Store

LIBRARY = "plotly.min.js"
_PAGES = "site"
_ASSETS = ("style.css", "page.js", "charts.js")
_SCRIPTS = ("compare", "repetitions")
_STATIC = resources.files("leaderboards.show") / "static"


@one_blas_thread()
def build_page(
    directory: str | os.PathLike[str] | Store,
    theory: bool = True,
    ranked_by: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the site of a results folder, by default into the folder itself.

    Args:
        directory: The results folder; or what can be read like one, such as a board, or the two together.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.CRITERIA`; None for the headline of
            the suite.
        theory: Whether to work out the theory beside the runs, which builds every environment again.
        out: Where to write it; a board, which nothing writes to, needs a folder.

    Returns:
        The overview, `index.html` in that folder; the other pages and their assets are below `site`.

    Raises:
        ValueError: if the folder holds no run, or `ranked_by` is no such metric, or a board is given no `out`.
        StoreError: if `site` is a link to elsewhere.
    """
    store = directory if isinstance(directory, Store) else Store(directory)
    if out is None and not _is_folder(store):
        raise ValueError(f"out: expected a folder for the page of a board, got none for {store.directory}")
    return write_site(whole_site(store, theory, ranked_by), store, store.directory if out is None else Path(out))


def _is_folder(store: Store) -> bool:
    """Whether results are a folder that is played into, alone or joined with a board."""
    return store.against() is not None or not store.rivals()


def whole_site(store: Store, theory: bool = True, ranked_by: str | None = None) -> Site:
    """The material of all pages of a results folder or board; for the arguments and errors see `build_page`."""
    summary = summarise(store)
    if summary.runs.empty:
        raise ValueError(f"directory: expected a results folder with runs, got {store.directory} with none")
    return Site(summary, theory, audit_reports(store, summary), ranked_by)


@one_blas_thread()
def write_site(site: Site, store: Store, directory: Path, front: Path | None = None) -> Path:
    """Write the pages of a site.

    Args:
        site: What `whole_site` has found.
        store: Of the same runs.
        directory: Where to write them.
        front: Folder of the front page of several sites, which share the plotting library there; None for a site of
            its own, with the library among its assets.

    Returns:
        The overview.

    Raises:
        StoreError: if `site` is a link to elsewhere.
    """
    folder = own_folder(directory / _PAGES)
    places = [folder, *(own_folder(folder / name) for name in _SCRIPTS)]
    assets = own_folder(folder / "assets")
    for name in _ASSETS:
        write_whole(assets / name, (_STATIC / name).read_bytes(), lasting=False)
    if front is None:
        copy_library(assets)
    else:
        (assets / LIBRARY).unlink(missing_ok=True)
    # Not by glob, which is silent about folders that cannot be listed.
    before = {path for place in places for path in place.iterdir() if path.suffix in (".html", ".js")}
    way = None if front is None else Path(os.path.relpath(front, folder)).as_posix()
    shared = {"site": site, "front": way, "library": f"{way or 'assets'}/{LIBRARY}", "legend": legend(site.ranked_by)}
    for file, text in _files(site, shared):
        write_whole(folder / file, text, lasting=False)
        before.discard(folder / file)
    for path in before:
        path.unlink()
    context = shared | overview_page(site, store.directory if _is_folder(store) else None)
    overview = _page("index.html.j2", context, f"{_PAGES}/", "index.html")
    return write_whole(directory / "index.html", overview, lasting=False)


def _files(site: Site, shared: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of all pages and scripts but the overview; `shared` is what the templates of all pages know."""
    for task, file in site.task_files.items():
        beside = file.removesuffix(".html") + ".js"
        repetitions = repetition_data(site, task)
        if repetitions:
            yield f"repetitions/{beside}", _script("window.repetitionData", repetitions)
        context = shared | environment_page(site, task)
        context["chart"]["repeated"] = list(repetitions.get("metrics", ()))
        context["repetition_script"] = f"repetitions/{beside}" if repetitions else None
        yield file, _page("environment.html.j2", context)
    for agent, file in site.agent_files.items():
        yield file, _page("agent.html.j2", shared | agent_page(site, agent))
    for file in dict.fromkeys(file for _, file in site.delay_files):
        yield file, _page("delay_cost.html.j2", shared | delay_page(site, file))
    yield COMPARISON_FILE, _page("compare.html.j2", shared | comparison_page(site))
    for first in site.compared:
        # Kept without a prototype: an agent may be named __proto__ or constructor.
        name = f"(window.comparisons ??= Object.create(null))[{embed(first)}]"
        yield script_file(site, first), _script(name, comparison_data(site, first))
    yield "rankings.js", _script("window.rankingData", _rankings(site))


def _page(template: str, context: dict[str, Any], base: str = "", home: str = "../index.html") -> str:
    """Render one page; `base` leads from it to the folder of the other pages, `home` to the overview."""
    return page_templates().get_template(template).render(context, base=base, home=home)


def _script(name: str, data: Any) -> str:
    """A script that sets a name; its value is parsed as JSON, which is faster for large ones.

    It stands in single quotes: all of the double ones in it would need a backslash.
    """
    text = dumped(data).replace("\\", "\\\\").replace("'", "\\'")
    return f"{name} = JSON.parse('{_escaped(text)}');\n"


def plotting_library() -> Traversable:
    """`plotly.min.js`: put into this package when it was built, else that of an installed Plotly.

    Raises:
        ImportError: if there is neither, as in a checkout on the path that was never installed.
    """
    if (_STATIC / LIBRARY).is_file():
        return _STATIC / LIBRARY
    try:
        return resources.files("plotly") / "package_data" / LIBRARY
    except ModuleNotFoundError:
        raise ImportError(
            "pages draw with plotly.min.js, which is in neither this package nor an installed Plotly: pip install -e . "
            "in the checkout, or pip install plotly"
        ) from None


def copy_library(folder: Path) -> Path:
    """Write `plotly.min.js`, 4.8 MB, into a folder that is there; returns the copy.

    Raises:
        ImportError: if there is none to copy.
        OSError: if it cannot be written.
    """
    return write_whole(folder / LIBRARY, plotting_library().read_bytes(), lasting=False)


def _rankings(site: Site) -> dict[str, Any]:
    """The rankings and charts that filters of the overview leave; the page loads them when one is set."""
    template = page_templates().get_template("ranking_cells.html.j2")
    cells: Any = template.make_module({"base": f"{_PAGES}/"})  # its macros
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
    # A thousand pages have a hundred thousand rows, most of whose cells are alike.
    once = functools.lru_cache(maxsize=4_096)(lambda macro, *values: macro(*values))
    templates.globals.update(palette=palette, hues=range(len(palette.HUES)), compare=COMPARISON_FILE, once=once)
    return templates


def prose(text: str) -> Markup:
    """Text of a docstring, with what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: they mean something else
        return Markup("{}").format(text)
    return Markup("").join(Markup("<code>{}</code>" if i % 2 else "{}").format(part) for i, part in enumerate(parts))


def embed(value: Any) -> Markup:
    """JSON that may stand inside a `<script>` whatever texts it holds."""
    return Markup(_escaped(dumped(value)))


def _escaped(text: str) -> str:
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def dumped(value: Any) -> str:
    """The shortest JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
