"""A real browser for the pages: Chromium, found by GPBANDIT_CHROMIUM or on the PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

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
DESKTOP = (1280, 900)
PHONE = (390, 844)

SCREENSHOTS = Path(__file__).parents[1] / "build" / "screenshots"
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
        # What leaving a page cuts short is no fault: the plotting library is read while the page is in use.
        page.on(
            "requestfailed",
            lambda request: None if request.failure == "net::ERR_ABORTED" else faults.append(f"failed: {request.url}"),
        )
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
