"""A real browser for the pages: Chromium, found by GPBANDIT_CHROMIUM or on the PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from leaderboards.play.executors import SerialExecutor
from leaderboards.play.schedule import run_missing
from leaderboards.play.store import Store
from leaderboards.play.suite import parse_suite
from leaderboards.score.auditing import audit_runs
from leaderboards.show import build_page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;'\""
DESKTOP = (1280, 900)
PHONE = (390, 844)

SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
"""Every page at both sizes, for whoever wants to look; git ignores the folder and CI keeps it."""

Open = Callable[..., AbstractContextManager[Any]]


def picture(thing: Any, name: str) -> None:
    """Keep a picture of a whole page, or of one element."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    whole = {"full_page": True} if hasattr(thing, "goto") else {}
    thing.screenshot(path=SCREENSHOTS / f"{name}.png", **whole)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, one a session."""
    path = os.environ.get("GPBANDIT_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium: install it (.ci/install-browser) or set GPBANDIT_CHROMIUM to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Open:
    """Opens a file from disk; on leaving, no error and no request but for files beside it may have been seen."""

    @contextmanager
    def opened(
        path: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light", script: bool = True
    ) -> Iterator[Any]:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, java_script_enabled=script
        )
        page = context.new_page()
        faults: list[str] = []
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:", "blob:"))
                else faults.append(f"network: {request.url}")
            ),
        )
        page.goto(path.resolve().as_uri())
        yield page
        context.close()
        assert not faults, faults

    return opened


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of real runs under three regimes of feedback and a wrong kernel, audited, with its site."""
    directory = tmp_path_factory.mktemp("real")
    kwargs = {"n_arms": 40, "dim": 1}
    wrong = {**kwargs, "misspecification": {"lengthscale": 3.0}}
    sample = {"id": "GPBandit/GPSample-v0", "kwargs": kwargs}
    suite = parse_suite(
        {
            "name": "real",
            "horizon": 60,
            "repetitions": 3,
            "environments": [
                {**sample, "feedback": "batch:1"},
                {**sample, "label": "GPSample, delay 8", "feedback": "delay:8"},
                {**sample, "label": "GPSample, batches of 8", "feedback": "batch:8"},
                {"id": "GPBandit/RKHS-v0", "kwargs": wrong, "label": "RKHS, lengthscale × 3"},
            ],
            "agents": [
                {"id": "Uniform"},
                {"id": "GP-UCB", "kwargs": {"width": "bayes"}},
                {"id": "GP-UCB", "kwargs": {"width": 0.1}, "label": "GP-UCB, narrow"},
                {"id": "GP-BUCB"},
                {"id": "BBKB", "kwargs": {"qbar": 0.5}, "label": EVIL},
            ],
        }
    )
    store = Store(directory)
    store.write_suite(suite.frozen())
    run_missing(list(suite.specs()), store, SerialExecutor())
    assert not any(one.error or one.differs for one in audit_runs(store, sorted(store.done_keys()), looks=12))
    build_page(directory)
    return directory
