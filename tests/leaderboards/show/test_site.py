"""The pages in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from leaderboards.play.record import Status
from leaderboards.play.spec import Ref
from leaderboards.play.store import Store
from leaderboards.play.suite import parse_suite
from leaderboards.show import build_page
from tests.leaderboards.folders import Failure, folder
from tests.leaderboards.show.conftest import DESKTOP, PHONE, Open

pytestmark = pytest.mark.browser

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;'\""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with finished, crashed, skipped and missing runs, and names that try to be HTML."""
    directory = tmp_path_factory.mktemp("results")
    envs = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0"), Ref("GPBandit/Branin-v0", label=EVIL)]
    agents = [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB"), Ref("my:Agent", label=EVIL)]
    crashed: Status = "crashed"
    failures: dict[tuple[str, str], Failure] = {
        ("RKHS", EVIL): (crashed, f"ValueError: {EVIL}", f"Traceback (most recent call last):\n  {EVIL}\nValueError"),
        ("GPSample", "BBKB"): ("skipped", "the agent needs a kernel, which the card does not state", None),
    }
    folder(directory, envs, agents, repetitions=3, T=80, failures=failures)
    entries = [{"id": ref.id, "label": ref.label} for ref in envs]
    suite = parse_suite(
        {
            "name": "tiny",
            "description": f"Made for tests. {EVIL}",
            "horizon": 80,
            "repetitions": 4,
            "environments": entries,
            "agents": [{"id": ref.id, "label": ref.label} for ref in agents],
        }
    )
    Store(directory).write_suite(suite.frozen())
    build_page(directory)
    return directory


def pages(site: Path) -> list[Path]:
    return [site / "index.html", *sorted((site / "site").glob("*.html"))]


def test_every_page_opens_from_disk_at_every_size_without_error_or_network(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html", DESKTOP) as page:
        for path in pages(site):
            page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
            page.goto(path.resolve().as_uri())
            assert page.title() != "owned"
            assert page.locator("img").count() == 0
            assert page.locator("h1").count() == 1
            for width, height in (DESKTOP, PHONE):
                page.set_viewport_size({"width": width, "height": height})
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{path.name} is {wide} wide on a screen of {width}"


def test_no_page_is_larger_than_300_kilobytes_and_plotly_is_there_once(site: Path) -> None:
    assert all(path.stat().st_size < 300_000 for path in pages(site))
    assert len(list(site.rglob("plotly*.js"))) == 1


def test_links_resolve(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html", script=False) as page:
        for path in pages(site):
            page.goto(path.resolve().as_uri())
            for href in page.evaluate("Array.from(document.links, a => a.href)"):
                url = urlparse(href)
                assert url.scheme == "file"
                target = Path(unquote(url.path))
                assert target.is_file(), f"{path.name} links to {target}"
                if url.fragment and target == path.resolve():
                    assert page.locator(f"[id='{url.fragment}']").count() == 1


def test_columns_sort_up_and_down_by_their_numbers(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html") as page:
        header = page.locator("table.ranking thead th", has_text="RKHS")
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == "ascending"
        up = _column(page)
        known = [x for x in up if x < 1e9]
        assert known == sorted(known)
        assert len(known) == 3
        assert up[-1] >= 1e9, "what has no score comes last"
        header.locator("button").press("Enter")
        assert header.get_attribute("aria-sort") == "descending"
        down = _column(page)
        assert [x for x in down if x < 1e9] == known[::-1]
        assert down[-1] >= 1e9
        page.locator("table.ranking thead th", has_text="Agent").locator("button").click()
        names = page.locator("table.ranking tbody th").all_inner_texts()
        assert sorted(names[1:], key=str.lower) == names[1:]


def _column(page: Any) -> list[float]:
    column = "Array.from(document.querySelectorAll('table.ranking tbody tr'), r => Number(r.children[3].dataset.sort))"
    found: list[float] = page.evaluate(column)
    return found


def test_environments_are_filtered_by_family(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html") as page:
        shown = "Array.from(document.querySelectorAll('{}')).filter(e => e.offsetParent).length"
        columns = shown.format("table.ranking tbody tr:first-child td.num")
        assert (page.evaluate(columns), page.evaluate(shown.format(".card"))) == (3, 3)
        page.get_by_label("Family").select_option("drawn functions")
        assert (page.evaluate(columns), page.evaluate(shown.format(".card"))) == (2, 2)
        assert page.locator("table.ranking thead th:visible").count() == 5
        page.get_by_label("Family").select_option("")
        assert page.evaluate(columns) == 3


def test_tabs_draw_their_metric_and_obey_the_keyboard(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#plot .legend").wait_for()
        tabs = page.locator("[role=tab]")
        assert tabs.count() >= 6
        first, second = tabs.nth(0), tabs.nth(1)
        assert first.get_attribute("aria-selected") == "true"
        assert "Cumulative regret" in page.locator("#plot").get_attribute("aria-label")
        first.focus()
        page.keyboard.press("ArrowRight")
        assert second.get_attribute("aria-selected") == "true"
        assert page.evaluate("document.activeElement.id") == second.get_attribute("id")
        assert page.locator("#plot").get_attribute("aria-label").startswith("Simple regret")
        assert "Simple regret" in page.locator("#plot .ytitle").text_content()
        page.keyboard.press("End")
        assert tabs.last.get_attribute("aria-selected") == "true"
        assert page.locator("#panel").get_attribute("aria-labelledby") == tabs.last.get_attribute("id")


def test_a_batched_agent_needs_less_time_for_the_same_evaluations(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#plot .legend").wait_for()
        page.locator("[role=tab]", has_text="Regret against time").click()
        assert "experiment time" in page.locator("#plot .xtitle").text_content()
        named = "document.getElementById('plot').data.filter(d => d.name)"
        ends = page.evaluate(f"Object.fromEntries({named}.map(d => [d.name, d.x.at(-1)]))")
        assert ends["GP-UCB"] == 80
        assert ends["BBKB"] == 10


def test_theory_stands_beside_the_runs(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        row = page.locator("section[aria-labelledby=theory] tbody tr", has=page.get_by_text("GP-UCB", exact=True))
        assert "Theorem 3" in row.inner_text()
    with open_page(site / "site" / "env-gpsample.html", script=False) as page:
        assert page.locator("section[aria-labelledby=theory] tbody tr").count() == 3


def test_the_spread_over_repetitions_is_shown(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html", script=False) as page:
        rows = page.locator("section[aria-labelledby=spread] tbody tr")
        assert rows.count() == 3
        for row in rows.all():
            cells = row.locator("td").all()
            median, iqm, high, best, worst = (float(cell.get_attribute("data-sort")) for cell in cells)
            assert best <= median <= high <= worst
            assert best <= iqm <= worst


def test_bands_and_scales_can_be_switched(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#plot .legend").wait_for()
        count = "document.getElementById('plot').data.length"
        with_bands = page.evaluate(count)
        page.locator("#bands").uncheck()
        assert page.evaluate(count) * 3 == with_bands
        page.locator("#log-x").check()
        assert page.evaluate("document.getElementById('plot').layout.xaxis.type") == "log"


def test_the_theme_is_switched_and_the_chart_follows(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#plot .legend").wait_for()
        colour = "document.getElementById('plot').data.at(-1).line.color"
        light = page.evaluate(colour)
        page.locator("button.theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate(colour) != light


def test_names_and_errors_cannot_inject_anything(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html") as page:
        page.locator("summary", has_text="Traceback").first.click()
        assert EVIL in page.locator("table.gaps pre").first.inner_text()
        assert EVIL in page.locator("table.ranking tbody th").all_inner_texts()


def test_what_is_not_done_is_shown_with_its_reason(site: Path, open_page: Open) -> None:
    with open_page(site / "index.html") as page:
        table = page.locator("table.gaps").inner_text()
        assert "the agent needs a kernel" in table
        assert "not run" in table
        row = page.locator("table.ranking tbody tr", has=page.get_by_text("BBKB", exact=True))
        assert "n/a" in row.inner_text()
        assert "ranked on 2 of 3" in row.inner_text()


def test_without_scripts_everything_but_the_charts_is_there(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html", script=False) as page:
        assert page.locator("table.scores tbody tr").count() == 4
        assert page.get_by_text("The chart needs scripts").is_visible()
        assert page.locator("button.copy:visible").count() == 0
