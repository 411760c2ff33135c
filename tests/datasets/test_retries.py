"""Fetching from a server that fails at random: every process ends with the data, or with one clear line."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import filelock
import pytest

from gpbandit_envs.datasets import download
from gpbandit_envs.datasets.card import DataFile
from gpbandit_envs.datasets.download import copy_user_files, fetch_file
from gpbandit_envs.datasets.errors import DataError, FetchError, IntegrityError
from tests.datasets import toy

FAULTS = ("none", "refuse", "cut", "stall", "busy", "other")


def whole(folder: Path) -> bool:
    """Whether nothing but the data is in a cache, with no lock held."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    for lock in folder.glob("locks/*.lock"):
        filelock.FileLock(lock).acquire(timeout=0).lock.release()
    return all(path.name == "numbers.csv" and path.read_bytes() == toy.CONTENT for path in files)


@pytest.mark.parametrize("fault", FAULTS[1:])
def test_a_fault_that_passes_costs_a_wait(
    fault: str, fresh_cache: Path, impatient: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(download, "_WEB_TIMEOUT_S", toy.SECONDS)
    with toy.serving(faults=[fault]) as server:
        card = toy.web_card(server.file_url)
        assert fetch_file(card, card.files[0]).read_bytes() == toy.CONTENT
        assert server.counts == {fault: 1, "none": 1}
    (said,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said.startswith(f"numbers.csv from {server.file_url}: ")
    assert said.endswith("; trying again in 0 s (try 2 of 4)")
    assert whole(fresh_cache)


def test_a_fault_that_does_not_pass_is_one_line(fresh_cache: Path, impatient: None) -> None:
    with toy.serving(faults=["busy"] * 9) as server:
        card = toy.web_card(server.file_url)
        with pytest.raises(FetchError) as caught:
            fetch_file(card, card.files[0])
        assert server.counts == {"busy": 4}
    assert caught.value.reason.startswith(f"Toy: could not get numbers.csv: {server.file_url}: HTTPError: 503 ")
    assert "\n" not in caught.value.reason
    assert whole(fresh_cache)
    with toy.serving(faults=["other"] * 9) as server, pytest.raises(IntegrityError, match="hash"):
        fetch_file(toy.web_card(server.file_url), toy.web_card(server.file_url).files[0])
    assert server.counts == {"other": 2}  # other bytes hardly ever pass


@pytest.mark.parametrize(("errno", "tries"), [(socket.EAI_NONAME, 1), (socket.EAI_AGAIN, download._TRIES)])
def test_a_host_that_does_not_exist_is_asked_once(
    errno: int, tries: int, fresh_cache: Path, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def getaddrinfo(host: str, *more: object) -> None:
        asked.append(host)
        raise socket.gaierror(errno, os.strerror(5))

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    card = toy.web_card("http://nowhere.invalid/numbers.csv")
    with pytest.raises(FetchError, match=r"nowhere\.invalid/numbers\.csv: ConnectionError: "):
        fetch_file(card, card.files[0])
    assert asked == ["nowhere.invalid"] * tries


@pytest.mark.parametrize("fault", FAULTS[1:])
def test_no_connection_is_left_open(
    fault: str, fresh_cache: Path, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a kept error still holds warns when it is collected, in whichever test that happens."""
    monkeypatch.setattr(download, "_WEB_TIMEOUT_S", toy.SECONDS)
    with toy.serving(faults=[fault] * 9) as server:
        card = toy.web_card(server.file_url)
        with pytest.raises(DataError) as kept:
            fetch_file(card, card.files[0])
        assert kept.value is not None
        sockets = [thing for thing in gc.get_objects() if isinstance(thing, socket.socket) and thing.fileno() != -1]
        assert server.server_address not in [_peer(each) for each in sockets]


def _peer(connection: socket.socket) -> object:
    try:
        return connection.getpeername()
    except OSError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("faults", [("limited",), ("none", "limited"), ("none", "cut")], ids=" then ".join)
def test_an_index_that_fails_once(
    faults: tuple[str, ...],
    tmp_path: Path,
    fresh_cache: Path,
    impatient: None,
    variables: Callable[[Mapping[str, str]], None],
) -> None:
    """Pip takes 429 for an index without the archive, and a wheel that was cut short for one with other bytes."""
    wheel = toy.build_wheel(tmp_path / "pinned")
    with toy.serving(toy.WHEEL, wheel.read_bytes(), faults=faults) as server:
        variables(toy.pip_environment(server.url))
        card = toy.pip_card(wheel)
        assert fetch_file(card, card.files[0]).read_bytes() == toy.CONTENT
    assert server.counts[faults[-1]] >= 1
    assert whole(fresh_cache)


def test_waits_grow(
    fresh_cache: Path, variables: Callable[[Mapping[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("gpbandit_envs.datasets.download.time.sleep", waits.append)
    card = toy.web_card(f"{toy.CLOSED}/numbers.csv")
    variables(toy.no_network())
    with pytest.raises(FetchError):
        fetch_file(card, card.files[0])
    assert len(waits) == 3
    assert all(0.5 * 2**i <= wait <= 2**i for i, wait in enumerate(waits))


def test_a_lock_that_is_held_is_named(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(download, "_LOCK_TIMEOUT_S", 0.1)
    card = toy.web_card(f"{toy.CLOSED}/numbers.csv")
    (fresh_cache / "locks").mkdir(parents=True)
    with (
        filelock.FileLock(fresh_cache / "locks" / "numbers.csv.lock"),
        pytest.raises(FetchError, match=r"another process has held .*numbers\.csv\.lock for 0 s; stop it"),
    ):
        fetch_file(card, card.files[0])
    assert "waiting for another process that fetches numbers.csv" in caplog.text


def test_what_an_orphan_still_writes_does_no_harm(fresh_cache: Path) -> None:
    """The pip of a process that was killed goes on for a while; its folder may not be removed under its hands."""
    old = fresh_cache / "partial" / "numbers.csv-old"
    old.mkdir(parents=True)
    writing, end = threading.Event(), threading.Event()

    def orphan() -> None:
        for i in range(100_000):
            with contextlib.suppress(OSError):
                old.mkdir(exist_ok=True)
                (old / str(i)).touch()
            writing.set()
            if end.is_set():
                return

    thread = threading.Thread(target=orphan)
    thread.start()
    writing.wait()
    try:
        with toy.serving() as server:
            card = toy.web_card(server.file_url)
            assert fetch_file(card, card.files[0]).read_bytes() == toy.CONTENT
    finally:
        end.set()
        thread.join()


def test_a_file_without_a_hash_is_offered_as_it_can_be_kept(tmp_path: Path, fresh_cache: Path) -> None:
    card = toy.card_of(DataFile(name="numbers.csv", sha256=None, size=None, by_hand="a library"))
    with pytest.raises(FetchError) as caught:
        fetch_file(card, card.files[0])
    text = str(caught.value)
    assert 'datasets.load("Toy", file=PATH)' in text
    assert "checked by its content, and the table made from it is then served" in text
    (tmp_path / "numbers.csv").write_bytes(toy.CONTENT)
    with pytest.raises(IntegrityError, match=r'only its table is kept: load\("Toy", file=PATH\)'):
        copy_user_files(card, card.files, tmp_path / "numbers.csv")


def test_offline_no_source_is_asked(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.OFFLINE, "1")
    with toy.serving() as server:
        card = toy.web_card(server.file_url)
        with pytest.raises(FetchError, match=r"numbers\.csv: .*not asked, since GPBANDIT_OFFLINE is set"):
            fetch_file(card, card.files[0])
        assert not server.counts
        monkeypatch.setenv(download.OFFLINE, "0")
        assert fetch_file(card, card.files[0]).read_bytes() == toy.CONTENT


def test_in_a_block_of_what_is_cached_no_source_is_asked(fresh_cache: Path) -> None:
    with toy.serving() as server:
        card = toy.web_card(server.file_url)
        with download.cached_only(), pytest.raises(FetchError, match=r"not asked; `gpbandit data fetch \w+` asks it"):
            fetch_file(card, card.files[0])
        assert not server.counts
        asked = fetch_file(card, card.files[0])
        with download.cached_only():
            assert fetch_file(card, card.files[0]).read_bytes() == asked.read_bytes() == toy.CONTENT


def test_in_a_block_a_source_that_fails_is_asked_for_a_file_once(fresh_cache: Path, impatient: None) -> None:
    with toy.serving(faults=itertools.repeat("refuse")) as server:
        card = toy.web_card(server.file_url)

        def reason() -> str:
            with pytest.raises(FetchError) as error:
                fetch_file(card, card.files[0])
            return error.value.reason

        with download.asked_once():
            first = reason()
            tries = server.counts["refuse"]
            assert tries > 1
            assert reason() == first
        assert server.counts["refuse"] == tries
        reason()
        assert server.counts["refuse"] == 2 * tries
        server.faults = itertools.repeat("none")
        with download.asked_once():
            assert fetch_file(card, card.files[0]).read_bytes() == toy.CONTENT
