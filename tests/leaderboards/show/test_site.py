"""The pages in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlparse

import numpy as np
import pytest

import leaderboards
from leaderboards.audit.store import AuditStore, audit_runs
from leaderboards.play.record import Status
from leaderboards.play.spec import Ref
from leaderboards.play.suite import parse_suite
from leaderboards.score.comparison import compare
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.format import signed
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from tests.browser import DESKTOP, PHONE, Open, picture
from tests.leaderboards.folders import Failure, folder
from tests.leaderboards.show.conftest import EVIL

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with finished, crashed, skipped and missing runs, and names that try to be HTML."""
    directory = tmp_path_factory.mktemp("results")
    envs = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0"), Ref("GPBandit/Branin-v0", label=EVIL)]
    agents = [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB"), Ref("my:Agent", label=EVIL)]
    crashed: Status = "crashed"
    failures: dict[tuple[str, str], Failure] = {
        ("RKHS", EVIL): (crashed, f"ValueError: {EVIL}", f"Traceback (most recent call last):\n  {EVIL}\nValueError"),
        ("GPSample", "BBKB"): ("skipped", "the agent needs a kernel, which the problem does not state", None),
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
    Store(directory).write_suite(suite)
    build_page(directory)
    return directory


def pages(site: Path) -> list[Path]:
    return [site / "index.html", *sorted((site / "site").glob("*.html"))]


FITS = "(p => p.querySelector('.main-svg').clientWidth <= p.clientWidth)(document.getElementById('plot'))"


@pytest.mark.parametrize("folder", ["site", "real"])
def test_every_page_opens_from_disk_at_every_size_without_error_or_network(
    folder: str, request: pytest.FixtureRequest, open_page: Open
) -> None:
    directory: Path = request.getfixturevalue(folder)
    with open_page(directory / "index.html", DESKTOP) as page:
        for path in pages(directory):
            page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
            page.goto(path.resolve().as_uri())
            if page.locator("#plot").count():
                page.locator("#plot").scroll_into_view_if_needed()
                page.locator("#plot .main-svg").first.wait_for()
            assert page.title() != "owned"
            assert page.locator("img").count() == 0
            assert page.locator("h1").count() == 1
            for kind, (width, height) in (("desktop", DESKTOP), ("phone", PHONE)):
                page.set_viewport_size({"width": width, "height": height})
                if page.locator("#plot").count():
                    page.wait_for_function(FITS)  # the chart follows the size of the screen
                wide = page.evaluate("document.documentElement.scrollWidth")
                if folder == "real":
                    picture(page, f"{path.stem}-{kind}")
                assert wide <= width, f"{path.name} is {wide} wide on a screen of {width}"


def test_open_menus_fit_a_phone(real: Path, open_page: Open) -> None:
    with open_page(real / "index.html") as page:
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.evaluate(
            "document.querySelector('.bar .menu:last-of-type li a').textContent = 'BBKB-GlobalLocal, practical'"
        )
        for menu in page.locator(".bar .menu").all():
            menu.locator("summary").click()
            box: Any = menu.locator("ul").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE[0]
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
            menu.locator("summary").click()


def test_every_tab_draws_something(real: Path, open_page: Open) -> None:
    for name in ("env-gpsample", "feedback-gpsample"):
        with open_page(real / "site" / f"{name}.html") as page:
            page.locator("#legend li").first.wait_for()
            for tab in page.locator("#chart-section [role=tab]").all():
                tab.click()
                drawn = "document.getElementById('plot').data.some(d => d.name && d.y.some(y => y !== null))"
                assert page.evaluate(drawn), (name, tab.inner_text())
                picture(page.locator(".chart"), f"{name}-{tab.get_attribute('data-key')}")


def test_no_page_is_larger_than_300_kilobytes_and_plotly_is_there_once(site: Path, real: Path) -> None:
    for directory in (site, real):
        assert all(path.stat().st_size < 300_000 for path in pages(directory))
        assert len(list(directory.rglob("plotly*.js"))) == 1


def test_links_resolve(site: Path, real: Path, open_page: Open) -> None:
    with open_page(site / "index.html", script=False) as page:
        for path in [*pages(site), *pages(real)]:
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
        first = "document.querySelector('table.ranking tbody tr').children[3].dataset"
        page.evaluate(f"{first}.sort = '2.5e+09'")
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == "ascending"
        up = _column(page)
        known = [x for x in up if np.isfinite(x)]
        assert known == sorted(known)
        assert len(known) == 3
        assert known[-1] == 2.5e9, "a value of any size is a value"
        assert up[-1] == np.inf, "what has no score comes last"
        header.locator("button").press("Enter")
        assert header.get_attribute("aria-sort") == "descending"
        down = _column(page)
        assert down == [*known[::-1], np.inf]
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


def test_classes_that_a_filter_empties_are_hidden(real: Path, open_page: Open) -> None:
    with open_page(real / "index.html") as page:
        assert page.locator(".ranked:visible").count() == 4, "not all agents play with delays and batches"
        page.locator("select[name=feedback]").select_option("batch:8")
        assert page.locator(".ranked:visible h3").all_inner_texts() == ["Arms, batches of 8"]
        page.locator("select[name=feedback]").select_option("")
        assert page.locator(".ranked:visible").count() == 4


def test_audits_of_bands_and_sketches_are_shown(real: Path, open_page: Open) -> None:
    with open_page(real / "site" / "env-gpsample.html") as page:
        bands = page.locator("section[aria-labelledby=bands] tbody tr")
        texts = {row.locator("th").inner_text(): row.inner_text() for row in bands.all()}
        assert texts.keys() == {"GP-UCB", "GP-UCB, narrow", "GP-BUCB", EVIL}
        assert "bayes" in texts["GP-UCB"]
        assert "kept" in texts["GP-UCB"]
        assert "6 of 6" in texts["GP-UCB"]
        assert "left" in texts["GP-UCB, narrow"]
        assert "0 of 6" in texts["GP-UCB, narrow"]
        assert "no theorem" in texts["GP-BUCB"], "no norm is known of a draw from the prior"
        header = page.locator("section[aria-labelledby=bands] thead th", has_text="Width over required")
        header.locator("button").click()
        slack = [float(row.locator("td").nth(4).get_attribute("data-sort")) for row in bands.all()]
        assert slack == sorted(slack)
        assert slack[0] < 1 < slack[-1]
        costs = page.locator("section[aria-labelledby=costs] tbody tr")
        sketched = [row for row in costs.all() if row.locator("th").inner_text() == EVIL]
        assert len(sketched) == 1
        dictionary = float(sketched[0].locator("td").nth(3).get_attribute("data-sort"))
        assert 1 <= dictionary <= 40
        assert costs.count() == 5
    with open_page(real / "site" / "agent-gp-ucb-narrow.html", script=False) as page:
        rows = page.locator("section[aria-labelledby=bands] tbody tr")
        assert rows.count() == 2, "a sequential policy plays neither delays nor batches"


def test_bands_are_summed_up_on_the_overview(real: Path, open_page: Open) -> None:
    with open_page(real / "index.html", script=False) as page:
        table = page.locator("section[aria-labelledby=bands]")
        assert table.locator("thead th").all_inner_texts()[1:] == [
            "GPSample",
            "GPSample, delay 8",
            "GPSample, batches of 8",
            "RKHS, lengthscale × 3",
        ]
        narrow = table.locator("tbody tr", has=page.get_by_text("GP-UCB, narrow", exact=True))
        assert "0% of 6" in narrow.inner_text()
        assert table.locator("td.lead").count() == 1, "a theorem covers GP-UCB on a draw from the prior alone"


def test_a_broken_promise_is_shown_as_such(tmp_path: Path) -> None:
    suite_env = ("GPBandit/GPSample-v0", {"n_arms": 30, "dim": 1})
    store = Store(tmp_path)
    records = [leaderboards.run(suite_env, ("GP-UCB", {"width": "bayes"}), r, 20) for r in range(8)]
    store.write(*records)
    list(audit_runs(store, sorted(store.done_keys()), checkpoints=5))
    page = (build_page(tmp_path).parent / "site" / "env-gpsample.html").read_text()
    assert ">kept<" in page
    files = AuditStore(tmp_path)
    for audit in files.read(store.done_keys()).values():
        files.write(replace(audit, checkpoints=audit.checkpoints.assign(violations=1.0, required_scaling=2.0)))
    index = build_page(tmp_path)
    assert "broken: 0% of 8" in index.read_text()
    page = (index.parent / "site" / "env-gpsample.html").read_text()
    assert ">broken<" in page
    assert ">kept<" not in page


def test_the_frontier_joins_what_none_beats(real: Path, open_page: Open) -> None:
    with open_page(real / "site" / "env-gpsample.html") as page:
        page.locator("#legend li").first.wait_for()
        page.locator("#chart-section [role=tab]", has_text="Accuracy and time").click()
        points = page.evaluate("document.getElementById('plot').data.filter(d => d.name).map(d => [d.x[0], d.y[0]])")
        line = page.evaluate("(({x, y}) => x.map((v, i) => [v, y[i]]))(document.getElementById('plot').data.at(-1))")
        assert len(points) == 5
        front = [p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)]
        assert sorted(line) == sorted(front)


DRAWN = "document.getElementById('plot').data.filter(d => d.name).map(d => d.name)"
CHOSEN = "Array.from(document.querySelectorAll('form.comparison select'), s => s.value)"


def test_any_two_agents_are_compared_on_one_page(real: Path, open_page: Open) -> None:
    with open_page(real / "index.html") as page:
        row = page.locator("table.ranking tbody tr", has=page.get_by_text("GP-BUCB", exact=True))
        row.locator("td.group-rank a").first.click()
        page.locator("#legend li").first.wait_for()
        assert "GP-BUCB against" in page.locator("h1").inner_text()
        page.locator("select[name=second]").select_option(EVIL)
        page.wait_for_function("document.getElementById('comparison').tBodies[0].rows.length === 3")
        assert "GPSample, delay 8" in page.locator("#apart").inner_text(), "BBKB does not play delays"
        assert EVIL in page.locator("h1").inner_text()
        page.locator("select[name=task]").select_option("GPSample")
        page.wait_for_function("document.getElementById('comparison').tBodies[0].rows.length === 1")
        # The chart is drawn after the table, once plotly is there.
        page.wait_for_function(f"JSON.stringify({DRAWN}) === '[\"GPSample\"]'")
        assert "Below 0, GP-BUCB does better" in page.locator("#meaning").inner_text()
        address = page.url
    with open_page(real / "site" / "compare.html") as page:
        page.goto(address)
        page.wait_for_function("document.getElementById('comparison').tBodies[0].rows.length === 1")
        assert page.evaluate(CHOSEN) == ["GP-BUCB", EVIL, "GPSample"], "the address holds the choice"
        page.locator("select[name=first]").select_option(EVIL)
        page.wait_for_function(f"{CHOSEN}[0] !== 'GP-BUCB' && {CHOSEN}[1] !== {CHOSEN}[0]")


@pytest.mark.parametrize("pair", [("GP-BUCB", EVIL), ("GP-BUCB", "Uniform"), ("Uniform", "GP-UCB, narrow")])
def test_a_pair_stands_once_and_is_shown_in_both_orders(real: Path, open_page: Open, pair: tuple[str, str]) -> None:
    summary = summarise(Store(real))
    site = Site(summary)
    rankings, said = site.rankings, site.sentence(*pair)
    assert all(name in said for name in pair)
    scripts = [path.read_text() for path in (real / "site" / "compare").iterdir()]
    assert sum(text.count('"rows":') for text in scripts) == 5 * 4 / 2, "each pair once"
    curves = []
    for first, second in (pair, pair[::-1]):
        chosen = f"#first={quote(first)}&second={quote(second)}"
        with open_page(real / "site" / "compare.html") as page:
            page.goto(page.url + chosen)
            page.locator("#plot .main-svg").first.wait_for()
            assert page.locator("#said").inner_text() == said
            for row in page.locator("#comparison tbody tr").all():
                task = row.locator("th").inner_text()
                found: Any = compare(summary, task, first, second, rankings[task])
                cells = row.locator("td")
                difference, wins = found.difference, found.wins
                ends = f"{signed(difference.low, plus=False)} to {signed(difference.high, plus=False)}"
                assert cells.nth(0).inner_text().split("\n") == [
                    signed(difference.estimate, plus=False),
                    f"{ends} · regret ratio",
                ]
                assert cells.nth(1).inner_text().split("\n") == [
                    f"{wins.estimate:.0%}",
                    f"{wins.low:.0%} – {wins.high:.0%}",
                ]
                assert float(cells.nth(1).get_attribute("data-sort")) == pytest.approx(wins.estimate, abs=1e-6)
                better = first if difference.estimate < 0 else second
                for place, p in ((2, found.p_single), (3, found.p)):
                    assert float(cells.nth(place).get_attribute("data-sort")) == pytest.approx(p, abs=1e-6)
                assert found.p is not None
                assert (found.p_single < 0.05) == (not difference.low <= 0 <= difference.high)
                assert cells.nth(4).inner_text() == (f"{better} is better" if found.p < 0.05 else "no difference found")
                middle = float(row.locator(".dot").get_attribute("cx"))
                assert (middle < 55) == (difference.estimate < 0)
            assert page.evaluate("document.getElementById('plot').layout.yaxis.title.text").count("minus") == 1
            assert f"Below 0, {first} does better" in page.locator("#meaning").inner_text()
            curves.append(page.evaluate("document.getElementById('plot').data.filter(d => d.name).map(d => d.y)"))
            for task, y in zip(page.evaluate(DRAWN), curves[-1]):
                found = compare(summary, task, first, second, rankings[task])
                assert found is not None
                assert y[-1] == pytest.approx(found.mean[-1], rel=1e-3)
    assert [[-y for y in curve] for curve in curves[0]] == curves[1]


def test_a_pair_that_is_chosen_is_shown_whatever_the_address_was(real: Path, open_page: Open) -> None:
    with open_page(real / "site" / "compare.html") as page:
        page.goto(page.url + "#first=nobody&second=<script>&task=nowhere")
        page.locator("#legend li").first.wait_for()
        assert page.evaluate(f"new Set({CHOSEN}.slice(0, 2)).size") == 2
    with open_page(real / "site" / "agent-gp-bucb.html") as page:
        page.get_by_role("link", name="compare GP-BUCB with Uniform").click()
        page.locator("#legend li").first.wait_for()
        assert page.evaluate(CHOSEN) == ["GP-BUCB", "Uniform", ""]


def test_the_cost_of_delay_has_a_page(real: Path, open_page: Open) -> None:
    with open_page(real / "index.html") as page:
        page.locator("section[aria-labelledby=delays] a").click()
        assert page.locator("h1").inner_text().startswith("Cost of delay")
        delay = page.locator("section[aria-labelledby=delay-delay] tbody tr")
        assert set(delay.locator("th").all_inner_texts()) == {"Uniform", "GP-BUCB"}
        batch = page.locator("section[aria-labelledby=delay-batch] tbody tr")
        assert set(batch.locator("th").all_inner_texts()) == {"Uniform", "GP-BUCB", EVIL}
        uniform = delay.filter(has_text="Uniform")
        assert "0 (0%)" in uniform.inner_text(), "what does not listen pays nothing"
        found = summarise(Store(real))
        late, base = (
            found.scores[task, "GP-BUCB"].finals["cumulative_regret"] for task in ("GPSample, delay 8", "GPSample")
        )
        shown = delay.filter(has_text="GP-BUCB").locator("td").nth(1).get_attribute("data-sort")
        assert float(shown) == pytest.approx((late - base).mean())
        page.locator("#legend li").first.wait_for()
        assert page.locator("#plot .xtitle").text_content() == "evaluations of delay"
    with open_page(real / "site" / "env-gpsample-delay-8.html", script=False) as page:
        assert page.get_by_role("link", name="What late feedback costs here").count() == 1


def test_tabs_draw_their_metric_and_obey_the_keyboard(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#legend li").first.wait_for()
        tabs = page.locator("#chart-section [role=tab]")
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


def test_the_spread_over_repetitions_is_shown(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html", script=False) as page:
        rows = page.locator("section[aria-labelledby=spread] tbody tr")
        assert rows.count() == 3
        for row in rows.all():
            cells = row.locator("td").all()
            median, iqm, high, best, worst = (float(cell.get_attribute("data-sort")) for cell in cells)
            assert best <= median <= high <= worst
            assert best <= iqm <= worst


def test_bands_scales_and_the_theme_are_switched_and_the_chart_follows(site: Path, open_page: Open) -> None:
    with open_page(site / "site" / "env-rkhs.html") as page:
        page.locator("#legend li").first.wait_for()
        count = "document.getElementById('plot').data.length"
        with_bands = page.evaluate(count)
        page.locator("#show-bands").uncheck()
        assert page.evaluate(count) * 3 == with_bands
        page.locator("#log-x").check()
        assert page.evaluate("document.getElementById('plot').layout.xaxis.type") == "log"
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
