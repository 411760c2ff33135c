"""The pages of many agents in a real browser: what is shown can be chosen, shared, read and saved."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboards.play.spec import Ref
from leaderboards.score.statistics import performance_profile
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.shared import NOT_TOLD, TOLD, Site
from leaderboards.store.store import Store
from tests.browser import DESKTOP, PHONE, Open, picture
from tests.leaderboards.folders import folder, record

pytestmark = pytest.mark.browser

WIDE = (1920, 1080)
NAMES = "Array.from(document.getElementById('plot').data.filter(d => d.name), d => d.meta)"
ENVS = [
    Ref("GPBandit/RKHS-v0", {"n_arms": 50, "dim": 1}, "RKHS"),
    Ref("GPBandit/Needle-v0", label="Needle"),
    Ref("GPBandit/Branin-v0", label="Branin"),
]
AGENTS = [
    Ref("Uniform"),
    *(Ref("GP-UCB", {"width": float(w)}, f"GP-UCB, width {w}") for w in range(1, 9)),
    *(Ref("MAP-UCB", {"width": float(w)}, f"MAP-UCB, width {w}") for w in range(1, 7)),
]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen agents; the regret of one of them falls to 0, and that of another in one repetition alone."""
    directory = tmp_path_factory.mktemp("crowd")
    store = folder(directory, ENVS, AGENTS[:-1], repetitions=3)
    for env in ENVS:
        for agent, repetition in [(AGENTS[-2], 0), *((AGENTS[-1], i) for i in range(3))]:
            perfect = record(env, agent, repetition)
            perfect.trace.loc[20:, ["regret", "inference_regret"]] = 0.0
            store.write(perfect)
    build_page(directory)
    return directory


def opened(page: Any) -> Any:
    page.locator("#plot").scroll_into_view_if_needed()
    page.locator("#plot .main-svg").first.wait_for()
    return page


@pytest.mark.parametrize("size", [PHONE, DESKTOP, WIDE])
def test_nothing_covers_the_curves_and_their_list(crowd: Path, open_page: Open, size: tuple[int, int]) -> None:
    with open_page(crowd / "site" / "env-rkhs.html", size) as page:
        opened(page)
        assert page.locator(".modebar").count() == 0
        plot, legend = (page.locator(name).bounding_box() for name in ("#plot", "#legend"))
        beside = legend["x"] >= plot["x"] + plot["width"]
        below = legend["y"] >= plot["y"] + plot["height"]
        assert beside or below
        assert beside == (size != PHONE)
        picture(page, f"crowd-{size[0]}")


def test_one_agent_is_shown_alone_and_all_again(crowd: Path, open_page: Open) -> None:
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        led = page.evaluate(NAMES)
        item = page.locator("#legend li", has=page.get_by_text("GP-UCB, width 3", exact=True))
        item.get_by_role("button", name="Only GP-UCB, width 3").click()
        assert page.evaluate(NAMES) == ["GP-UCB, width 3"]
        item.get_by_role("button").click()
        assert page.evaluate(NAMES) == led
        page.locator("#legend li label", has_text="GP-UCB, width 5").dblclick()
        assert page.evaluate(NAMES) == ["GP-UCB, width 5"]
        page.locator("#legend").get_by_role("button", name="All").click()
        assert len(page.evaluate(NAMES)) == 15
        page.get_by_role("checkbox", name="GP-UCB, width 5").uncheck()
        assert len(page.evaluate(NAMES)) == 14
        page.locator("#legend").get_by_role("button", name="None").click()
        assert page.evaluate(NAMES) == []


def test_many_curves_begin_with_those_that_lead(crowd: Path, open_page: Open) -> None:
    summary = summarise(Store(crowd))
    best = Site(summary).best_agents("RKHS")
    assert best.index("Uniform") >= 8
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        assert page.evaluate(NAMES) == [*best[:8], "Uniform"]
        assert "Drawn are the first 8, Uniform; the list has all." in page.locator("#meaning").inner_text()
        assert page.locator("#legend li input:checked").count() == 9
        page.get_by_role("checkbox", name=best[9], exact=True).check()
        assert page.evaluate(NAMES) == [*best[:8], *[name for name in best[8:] if name in (best[9], "Uniform")]]
        assert "Drawn are" not in page.locator("#meaning").inner_text()
        page.locator("#legend").get_by_role("button", name="Leading").click()
        assert page.locator("#legend li input:checked").count() == 9
        # Points do not hide each other.
        page.locator("#chart-section [role=tab]", has_text="Accuracy and time").click()
        assert len(page.evaluate(NAMES)) == 15


def test_agents_are_found_by_a_part_of_their_name_and_chosen_by_their_class(crowd: Path, open_page: Open) -> None:
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        page.get_by_label("Find a curve").fill("map")
        assert page.locator("#legend li:visible").count() == 6
        page.get_by_label("Find a curve").fill("")
        assert page.locator("#legend li:visible").count() == 15
        page.locator("#legend").get_by_role("button", name="Not told the kernel").click()
        assert sorted(page.evaluate(NAMES)) == [
            "MAP-UCB, width 1",
            *(f"MAP-UCB, width {w}" for w in range(2, 7)),
            "Uniform",
        ]


def test_what_is_shown_stands_in_the_address(crowd: Path, open_page: Open) -> None:
    path = crowd / "site" / "env-rkhs.html"
    with open_page(path) as page:
        opened(page)
        page.locator("#chart-section [role=tab]", has_text="Simple regret").click()
        page.locator("#legend").get_by_role("button", name="None").click()
        for name in ("Uniform", "GP-UCB, width 2"):
            page.get_by_role("checkbox", name=name, exact=True).check()
        address, chosen = page.url, page.evaluate(NAMES)
        assert sorted(chosen) == ["GP-UCB, width 2", "Uniform"]
    with open_page(path) as page:
        page.goto("about:blank")
        page.goto(address)
        opened(page)
        assert page.evaluate(NAMES) == chosen
        assert page.locator("#chart-section [role=tab][aria-selected=true]").inner_text() == "Simple regret"
        page.locator("#legend").get_by_role("button", name="All").click()
        assert "show=all" in page.url
        page.reload()
        opened(page)
        assert len(page.evaluate(NAMES)) == 15
        page.locator("#legend").get_by_role("button", name="Leading").click()
        page.locator("#chart-section [role=tab]").first.click()
        assert "#" not in page.url, "the default needs no address"


@pytest.mark.parametrize("address", ["#main", "#show=nobody&chart=nothing", "#class=toString&show=__proto__"])
def test_an_address_that_says_nothing_shows_all(crowd: Path, open_page: Open, address: str) -> None:
    for name in ("site/env-rkhs.html", "index.html"):
        with open_page(crowd / name) as page:
            page.goto(page.url + address)
            page.reload()
            opened(page)
            assert len(page.evaluate(NAMES)) >= 7


def test_filters_stand_in_the_address_and_are_restored(crowd: Path, open_page: Open) -> None:
    site = Site(summarise(Store(crowd)))
    with open_page(crowd / "index.html") as page:
        page.locator("select[name=entrants]").select_option(NOT_TOLD)
        page.locator("select[name=family]").select_option("drawn functions")
        page.wait_for_function("document.querySelector('.basis').textContent.includes('of 7 agents')")
        address = page.url
    with open_page(crowd / "index.html") as page:
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_function("document.querySelector('.basis').textContent.includes('of 7 agents')")
        assert page.locator("select[name=entrants]").input_value() == NOT_TOLD
        rows = page.locator(".ranked:visible tbody tr:visible")
        names = rows.locator("th a").all_inner_texts()
        assert {site.entrant(name) for name in names} == {NOT_TOLD}
        found: Any = site.over(["RKHS", "Needle"], names)
        assert rows.locator("td.rank .value").all_inner_texts() == [
            f"{found.mean_rank[found.agents.index(name)].estimate:.2f}" for name in names
        ]
        assert names == sorted(names, key=found.ordered.index)
        page.locator("select[name=entrants]").select_option(TOLD)
        page.wait_for_function("document.querySelector('.basis').textContent.includes('of 8 agents')")


def test_charts_follow_the_filters(crowd: Path, open_page: Open) -> None:
    summary = summarise(Store(crowd))
    title, drawn = "document.getElementById('over-all').textContent", "document.getElementById('plot').data"

    def profile(page: Any, tasks: list[str]) -> None:
        page.locator("#chart-section [role=tab]", has_text="Performance profiles").click()
        x, y = page.evaluate(f"(({{x, y}}) => [x, y])({drawn}.find(d => d.meta === 'GP-UCB, width 2'))")
        strata = [summary.scores[task, "GP-UCB, width 2"].finals["regret_ratio"] for task in tasks]
        np.testing.assert_allclose(y, performance_profile(strata, np.array(x)), atol=1e-3)

    with open_page(crowd / "index.html") as page:
        opened(page)
        assert page.evaluate(title) == "Over all environments"
        assert len(page.evaluate(NAMES)) == 9
        page.locator("#legend").get_by_role("button", name="All").click()
        profile(page, ["RKHS", "Needle", "Branin"])
        page.locator("select[name=family]").select_option("drawn functions")
        page.wait_for_function(f"{title} === 'Over the environments chosen'")
        profile(page, ["RKHS", "Needle"])
        assert len(page.evaluate(NAMES)) == 15
        page.locator("select[name=entrants]").select_option(NOT_TOLD)
        page.wait_for_function(f"{title} === 'Over the environments chosen, agents {NOT_TOLD}'")
        assert len(page.evaluate(NAMES)) == 7
        assert page.locator("#legend li").count() == 7
        address = page.url
        for name in ("family", "entrants"):
            page.locator(f"select[name={name}]").select_option("")
        page.wait_for_function(f"{title} === 'Over all environments'")
        profile(page, ["RKHS", "Needle", "Branin"])
        assert len(page.evaluate(NAMES)) == 15
    with open_page(crowd / "index.html") as page:
        page.goto("about:blank")
        page.goto(address)
        opened(page)
        page.wait_for_function(f"{title} === 'Over the environments chosen, agents {NOT_TOLD}'")
        assert len(page.evaluate(NAMES)) == 7


def test_a_class_that_filters_leave_empty_has_no_charts(real: Path, open_page: Open) -> None:
    classes = "Array.from(document.getElementById('chart-set').options, o => [o.value, o.disabled])"
    with open_page(real / "index.html") as page:
        opened(page)
        names = [name for name, _ in page.evaluate(classes)]
        assert len(names) == 4
        page.locator("select[name=feedback]").select_option("delay:8")
        page.wait_for_function("document.getElementById('chart-set').selectedIndex === 1")
        assert [off for _, off in page.evaluate(classes)] == [True, False, True, True]
        assert sorted(page.evaluate(NAMES)) == ["GP-BUCB", "Uniform"]
        page.locator("select[name=knowledge]").select_option("misspecified")
        page.locator("#chart-section").wait_for(state="hidden")
        page.locator("select[name=feedback]").select_option("")
        page.locator("#chart-section").wait_for(state="visible")
        assert [off for _, off in page.evaluate(classes)] == [True, True, True, False]


def test_a_hover_lists_agents_as_their_curves_lie(crowd: Path, open_page: Open) -> None:
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        page.locator("#legend").get_by_role("button", name="All").click()
        page.locator("#plot").evaluate("plot => plot.scrollIntoView({block: 'center', behavior: 'instant'})")
        box = page.locator("#plot .nsewdrag").first.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
        page.locator("#plot .hoverlayer .legendtext").first.wait_for()
        texts = page.locator("#plot .hoverlayer .legendtext").all_text_contents()
        values = [float(text.rpartition(" : ")[2].replace("−", "-")) for text in texts]
        assert len(values) == 15
        assert values == sorted(values, reverse=True)


def saved(page: Any, click: Any) -> str:
    with page.expect_download() as download:
        click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_every_table_can_be_saved_with_its_numbers(crowd: Path, open_page: Open) -> None:
    summary = summarise(Store(crowd))
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        tables = page.locator("main .scroll table")
        assert page.locator("main .downloads").count() == tables.count() >= 3
        place = page.locator("section[aria-labelledby=scores]")
        runs = place.locator("tbody tr").first.locator("td").last
        runs.evaluate("cell => { cell.dataset.sort = '2.5e+09'; }")
        text = saved(page, place.get_by_role("button", name="CSV").click)
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 15
        for row in rows:
            finals = summary.scores["RKHS", row["Agent"]].finals
            assert float(row["Cumulative regret"]) == pytest.approx(finals["cumulative_regret"].mean(), rel=1e-5)
            assert float(row["Cumulative regret, low"]) <= float(row["Cumulative regret"])
            assert float(row["Cumulative regret, high"]) >= float(row["Cumulative regret"]) * 0.999
        found = json.loads(saved(page, place.get_by_role("button", name="JSON").click))
        assert [one["Agent"] for one in found] == [row["Agent"] for row in rows]
        assert [one["Runs"] for one in found[:2]] == [2.5e9, 3]
    with open_page(crowd / "index.html") as page:
        page.locator("select[name=entrants]").select_option(NOT_TOLD)
        page.wait_for_function("document.querySelector('.basis').textContent.includes('of 7 agents')")
        text = saved(page, page.get_by_role("button", name="CSV: Agents by mean rank").first.click)
        assert len(list(csv.DictReader(io.StringIO(text)))) == 7, "what is not shown is not saved"


def test_the_curves_of_a_chart_can_be_saved(crowd: Path, open_page: Open) -> None:
    scores = summarise(Store(crowd)).scores["RKHS", "GP-UCB, width 2"]
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        page.locator("#legend li", has_text="GP-UCB, width 2").get_by_role("button").click()

        def save(format: str) -> str:
            page.locator(".tools summary").click()
            return saved(page, page.locator(f".tools [data-format={format}]").click)

        rows = list(csv.DictReader(io.StringIO(save("csv"))))
        assert {row["line"] for row in rows} == {"GP-UCB, width 2"}
        last = rows[-1]
        assert int(last["evaluations t"]) == 60
        mean = scores.finals["cumulative_regret"].mean()
        assert float(last["Cumulative regret (unit of the reward)"]) == pytest.approx(mean, rel=1e-3)
        assert float(last["low"]) < mean < float(last["high"])
        assert json.loads(save("json"))[-1]["evaluations t"] == 60
        assert "<svg" in save("svg")


def test_single_repetitions_are_drawn_when_they_are_asked_for(crowd: Path, open_page: Open) -> None:
    scores = summarise(Store(crowd)).scores["RKHS", "GP-UCB, width 5"]
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        page.locator("#legend li", has_text="GP-UCB, width 5").get_by_role("button").click()
        assert page.evaluate("document.getElementById('plot').data.length") == 1
        page.get_by_role("checkbox", name="repetitions").check()
        page.wait_for_function("document.getElementById('plot').data.length === 2")
        y = page.evaluate("document.getElementById('plot').data[0].y")
        ends = [a for a, b in itertools.pairwise(y) if b is None]
        np.testing.assert_allclose(sorted(ends), sorted(scores.finals["cumulative_regret"]), rtol=6e-3)
        page.locator("#chart-section [role=tab]", has_text="Inference regret").click()
        page.get_by_label("log y").check()
        page.wait_for_function("document.getElementById('plot').layout.yaxis.type === 'log'")
        y = page.evaluate("document.getElementById('plot').data[0].y")
        low, high = page.evaluate("document.getElementById('plot').layout.yaxis.range")
        finals = scores.finals["inference_regret"]
        ends = [a for a, b in itertools.pairwise(y) if b is None]
        np.testing.assert_allclose(sorted(ends), sorted(finals), rtol=6e-3)
        assert all(10**low < value < 10**high for value in y if value is not None)
        assert "along the lower edge" not in page.locator("#meaning").inner_text()
        page.locator("#legend li", has_text=AGENTS[-2].label).get_by_role("button").click()
        assert "along the lower edge" in page.locator("#meaning").inner_text()
        page.get_by_role("checkbox", name="repetitions").uncheck()
        assert "along the lower edge" not in page.locator("#meaning").inner_text()
        page.locator("#chart-section [role=tab]", has_text="Policy time").click()
        assert page.get_by_role("checkbox", name="repetitions").is_disabled()


def test_a_line_at_zero_runs_along_the_edge_of_a_logarithmic_axis(crowd: Path, open_page: Open) -> None:
    with open_page(crowd / "site" / "env-rkhs.html") as page:
        opened(page)
        page.locator("#chart-section [role=tab]", has_text="Inference regret").click()
        page.get_by_label("log y").check()
        page.wait_for_function("document.getElementById('plot').layout.yaxis.type === 'log'")
        drawn = f"document.getElementById('plot').data.find(d => d.meta === '{AGENTS[-1].label}')"
        low = 10 ** page.evaluate("document.getElementById('plot').layout.yaxis.range[0]")
        y, true = page.evaluate(f"{drawn}.y"), page.evaluate(f"{drawn}.customdata")
        assert true[-1] == 0
        assert y[-1] > low
        assert "What runs along the lower edge" in page.locator("#meaning").inner_text()
        labels = page.locator("#plot .ytick text").all_text_contents()
        assert labels
        assert all(float(text.replace("−", "-")) > 0 for text in labels), "every tick says its whole number"


def test_an_agent_says_what_it_is_and_where_its_code_is(crowd: Path, open_page: Open) -> None:
    with open_page(crowd / "site" / "agent-gp-ucb-width-2.html") as page:
        about = page.locator("section[aria-labelledby=about]")
        assert "Evaluate argmax mean" in about.inner_text()
        assert "Srinivas, Krause, Kakade and Seeger (2010)" in about.inner_text()
        about.get_by_text("BibTeX", exact=True).click()
        assert "@inproceedings{srinivas2010,\n" in about.locator("pre").inner_text()
        about.get_by_text("arguments, of which width is set").click()
        row = about.locator("tr", has=page.get_by_text("width", exact=True)).first
        assert "2.0" in row.inner_text()
        assert "set here" in row.inner_text()
        assert TOLD in page.locator(".facts").inner_text()
        assert "agents.exact.gp_ucb:GPUCB" in about.inner_text()
