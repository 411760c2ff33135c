"""axe-core on the pages: WCAG A and AA and good practice, no fault."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from leaderboards.play.spec import Ref
from leaderboards.publish import front as front_page
from leaderboards.publish.boards import board
from leaderboards.publish.front import build_front
from leaderboards.show import build_page
from leaderboards.show.build import whole_site, write_site
from tests.browser import DESKTOP, PHONE, Open
from tests.leaderboards.folders import AGENTS, Failure, folder

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
# axe would fetch the style sheets once more, which a page from disk may not.
RULES = {
    "preload": False,
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
# Each passed node with its HTML would take longer to hand over than to check.
RUN = "(rules) => axe.run(document, rules).then(({ violations, passes }) => [violations, passes.length])"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script, fetched with npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: install Node.js to check accessibility")
    place = tmp_path_factory.mktemp("npm")
    command = [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", "--ignore-scripts", AXE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"npm could not fetch {AXE}: {done.stderr.strip().splitlines()[-1:]}")
    return place / "node_modules" / "axe-core" / "axe.min.js"


def test_no_page_has_a_fault(axe: Path, tmp_path: Path, real: Path, open_page: Open) -> None:
    failures: dict[tuple[str, str], Failure] = {
        ("RKHS", "EpsGreedy"): ("crashed", "ValueError: no", "Traceback (most recent call last)"),
        ("GPSample", "GP-AUCB"): ("skipped", "does not fit", None),
    }
    folder(tmp_path, agents=AGENTS, repetitions=3, failures=failures)
    folder(tmp_path, envs=[Ref("GPBandit/Needle-v0")], agents=AGENTS[:2], repetitions=1)
    build_page(tmp_path)
    made = [tmp_path / f"{name}.html" for name in ("index", "site/env-rkhs", "site/compare")]
    audited = [real / f"{name}.html" for name in ("site/agent-gp-bucb", "site/env-gpsample", "site/feedback-gpsample")]
    views = [(path, DESKTOP, "light") for path in [*made, audited[0]]]
    views += [(path, PHONE, "dark") for path in [made[0], *audited[1:]]]
    faultless(axe, open_page, views)


def test_the_front_page_and_a_board_have_no_fault(
    axe: Path, tmp_path: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest board, and a crowded one."""
    monkeypatch.setattr(front_page, "board_parts", lambda: {"feedback-v1": ()})
    with monkeypatch.context() as alone:  # their own pages are not looked at
        alone.setattr(front_page, "write_site", lambda *_: None)
        front = build_front(tmp_path)
    pages = tmp_path / "board" / "core-v2-lite"
    write_site(whole_site(board("core-v2-lite")), board("core-v2-lite"), pages, tmp_path)
    agent = sorted((pages / "site").glob("agent-bbkb*.html"))[0]
    views = [(front, DESKTOP, "light"), (front, PHONE, "dark"), (pages / "index.html", PHONE, "light")]
    crowded = sorted((pages / "site").glob("env-*-rkhs-*.html"))[0]  # most of its curves are left out at first
    faultless(axe, open_page, [*views, (agent, DESKTOP, "dark"), (crowded, DESKTOP, "light"), (crowded, PHONE, "dark")])


def faultless(axe: Path, open_page: Open, views: list[tuple[Path, tuple[int, int], str]]) -> None:
    """No page, at a size and in a scheme of colours, has a fault."""
    for name, size, scheme in views:
        with open_page(name, size, scheme) as page:
            if page.locator("#plot").count():
                page.locator("#legend li").first.wait_for()
            page.add_script_tag(path=str(axe))
            violations, passed = page.evaluate(RUN, RULES)
            faults = [
                f"{fault['impact']}: {fault['id']} at {fault['nodes'][0]['target']}: "
                f"{fault['nodes'][0]['failureSummary']}"
                for fault in violations
            ]
            assert not faults, (name, faults)
            assert passed > 10
