"""The documentation as a site: complete, without a network, legible on a desktop and a phone, in light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agents
from gpbandit_envs.registry import ENVIRONMENTS, TABLE
from leaderboards.play.suite import suite_names
from tests.browser import DESKTOP, PHONE, Open, picture
from tests.modules import module_at

pytestmark = pytest.mark.docs

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytest.importorskip("sphinx", reason="the extra docs is not installed")


def extension(name: str) -> ModuleType:
    """A module of docs/_ext."""
    return module_at(DOCS / "_ext" / f"{name}.py")


def test_everything_has_its_page(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        relative = page.relative_to(DOCS)
        if not relative.parts[0].startswith("_"):
            assert (site / relative.with_suffix(".html")).exists(), relative
    for row in (*ENVIRONMENTS, TABLE):
        assert row.id in (site / "environments" / f"{row.name}.html").read_text(encoding="utf-8")
    api = "".join(path.read_text(encoding="utf-8") for path in (site / "api" / "generated").glob("*.html"))
    imported = ("leaderboards.run", "leaderboards.run_suite", "leaderboards.Store", "gpbandit_envs.from_table")
    defined = ("gpbandit_envs.problem.Problem", "agents.core.protocol.Agent.select", "leaderboards.play.run.run")
    for name in (*imported, "gpbandit_envs.from_function", *defined):
        assert f'id="{name}"' in api
    for name in ("Experiment", "Agent", "make", "register", "check_agent", "make_vec"):
        assert f'id="agents.{name}"' in api


def test_the_gallery_has_its_figures_and_nothing_else() -> None:
    shown = set(re.findall(r"\]\(figures/gallery/([^)]+)\)", (DOCS / "gallery.md").read_text(encoding="utf-8")))
    kept = {path.name: path.stat().st_size for path in (DOCS / "figures" / "gallery").iterdir()}
    assert shown == kept.keys()
    assert sum(kept.values()) < 300_000
    for name in shown:
        assert name.partition(".")[0] in suite_names()


def test_nothing_comes_from_a_network(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]*\shref=\"([^\"]+)\"", text)
        loaded += re.findall(r"(?:@import\s+|url\()[\"']?([^\"')]+)", text) if path.suffix == ".css" else []
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], path


def test_every_page_leads_to_the_boards(site: Path) -> None:
    for path in site.rglob("*.html"):
        bar = re.search(r'<nav class="to-boards".*?</nav>', path.read_text(encoding="utf-8"), re.DOTALL)
        assert bar is not None, path
        found: Any = re.search(r'href="([^"]+)">All boards', bar[0])
        assert (path.parent / found[1]).resolve() == site.parent / "index.html", path


def test_annotations_are_legible(site: Path) -> None:
    page = (site / "api" / "generated" / "gpbandit_envs.gp.html").read_text(encoding="utf-8")
    signatures = re.sub(r"<[^>]+>", "", page)
    assert "Float[ndarray, 'A d']" in signatures.replace("&#39;", "'")
    assert "&lt;class" not in page
    assert "<locals>" not in page


def test_every_policy_is_explained_among_the_algorithms() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "math").glob("*.md"))
    built_in = [id for id in agents._BUILT_IN if id not in text]
    assert not built_in


@pytest.mark.browser
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen(site: Path, open_page: Open, size: tuple[int, int], scheme: str) -> None:
    pages = [site / "index.html", site / "start.html", *sorted((site / "math").glob("*.html"))]
    pages += [site / "guides" / "agent.html", site / "environments" / "README.html", site / "benchmarks.html"]
    with open_page(pages[0], size, scheme) as page:
        for path in pages:
            page.goto(path.resolve().as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path.name
            assert contrast(page) >= 4.5, path.name


@pytest.mark.browser
def test_wide_tables_scroll_in_their_own_box_beside_their_first_column(site: Path, open_page: Open) -> None:
    wide = 0
    with open_page(site / "environments" / "README.html", PHONE) as page:
        for name in ("environments/README", "environments/Abalone", "guides/experiment", "guides/from-others"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], name
            boxes = page.evaluate(
                """() => [...document.querySelectorAll(".table-wrapper")].map(box => {
                  box.scrollLeft = 10000;
                  const around = box.getBoundingClientRect();
                  const first = [...box.querySelectorAll("tr > :first-child")];
                  const cells = first.map(cell => cell.getBoundingClientRect());
                  return {
                    scrolled: box.scrollLeft,
                    off: Math.max(...cells.map(cell => Math.abs(cell.left - around.left))),
                    share: Math.max(...cells.map(cell => cell.width)) / around.width,
                  };
                })"""
            )
            assert boxes, name
            for box in boxes:
                wide += box["scrolled"] > 0
                if box["scrolled"] > 0:
                    assert box["off"] < 6, name
                    assert box["share"] < 0.6, name
        picture(page, "docs-phone-table")
    assert wide


@pytest.mark.browser
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_search_shows_excerpts_from_disk(site: Path, open_page: Open, size: tuple[int, int]) -> None:
    with open_page(site / "index.html", size) as page:
        page.goto((site / "search.html").as_uri() + "?q=lengthscale")
        page.wait_for_selector("#search-results li p.context .highlighted")
        page.wait_for_function("!document.querySelector('#search-results h2').textContent.startsWith('Searching')")
        found = page.evaluate(
            """() => [...document.querySelectorAll("#search-results li")].map(item => [
              item.querySelector("a").getAttribute("href"), item.querySelector("p.context")?.textContent ?? ""])"""
        )
        assert len(found) > 20
        told = [text for _, text in found if "lengthscale" in text.lower()]
        assert len(told) > 0.8 * len(found), [link for link, text in found if "lengthscale" not in text.lower()]
        assert all(len(text) < 300 for _, text in found)
        picture(page, f"docs-search-{size[0]}")


def test_pages_show_what_their_code_prints(site: Path) -> None:
    page = (site / "start.html").read_text(encoding="utf-8")
    assert page.count('class="output highlight-text') >= 5
    assert "```" not in page


def contrast(page: Any) -> float:
    """Contrast ratio of the running text with the page, by WCAG 2.1."""
    light: list[float] = page.evaluate(
        """() => {
          const channels = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          const luminance = c => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
          const text = getComputedStyle(document.querySelector("article p")).color;
          const back = getComputedStyle(document.body).backgroundColor;
          return [text, back].map(channels).map(luminance).sort((a, b) => b - a);
        }"""
    )
    return (light[0] + 0.05) / (light[1] + 0.05)


@pytest.mark.browser
def test_formulas_are_drawn_without_scripts(site: Path, open_page: Open) -> None:
    with open_page(site / "math" / "gp-ucb.html", DESKTOP, script=False) as page:
        boxes = page.evaluate(
            "[...document.querySelectorAll('math')].map(m => [m.namespaceURI, m.getBoundingClientRect().width])"
        )
        assert len(boxes) > 5
        assert all(space == "http://www.w3.org/1998/Math/MathML" and width > 0 for space, width in boxes)
        assert not re.search(r"\\(frac|sqrt|mu|sigma)", page.inner_text("article"))


def test_docstrings_become_markup() -> None:
    to_rst = extension("markdown_docstrings").to_rst
    assert to_rst(["Bound `|x|` on *f*, |y| and a_."]) == [r"Bound ``|x|`` on \*f\*, \|y\| and a\_."]
    assert to_rst(["| a | b |", "|---|---|", "| `x|y` | z |"]) == [
        *["", ".. list-table::", "   :header-rows: 1", ""],
        *["   * - a", "     - b", "   * - ``x|y``", "     - z", ""],
    ]
    assert to_rst(["Form:", "", "    y = x", "", "End."]) == ["Form:", "", "::", "", "    y = x", "", "End."]
    assert to_rst(["## Reward", "The sum."]) == ["", ".. rubric:: Reward", "", "The sum."]


def test_a_formula_that_cannot_be_drawn_is_a_warning(tmp_path: Path) -> None:
    from sphinx.cmd.build import build_main

    (tmp_path / "conf.py").write_text(
        f"import sys; sys.path.insert(0, {str(DOCS / '_ext')!r})\n"
        "extensions = ['myst_parser', 'mathml']\nmyst_enable_extensions = ['dollarmath']\n"
        "html_math_renderer = 'mathml'\n",
        encoding="utf-8",
    )
    (tmp_path / "index.md").write_text(
        "# Page\n\nGood $\\sqrt{x}$, $\\tilde\\ell_t$ and $\\max_x f(x)$ at $x\\,y$.\n", encoding="utf-8"
    )
    build = ["-q", "-W", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    assert build_main(build) == 0
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<msqrt>" in page
    assert re.search(r"<msub>\s*<mover", page)  # the index stands beside the accented letter, not below it
    assert "munderover" not in page
    (tmp_path / "index.md").write_text("# Page\n\nBad $\\nonsense{x}$.\n", encoding="utf-8")
    assert build_main(build) != 0
