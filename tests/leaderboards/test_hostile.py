"""Archives and folders that a stranger made: refused in one line, or shown; never run, and never written elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaderboards.audit.store import AuditStore
from leaderboards.cli import main
from leaderboards.play.build import loaded_agent, named_code
from leaderboards.play.spec import MOST_RUNS, Ref, RunSpec
from leaderboards.play.suite import SuiteError, parse_suite
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.paper import latex_table
from leaderboards.show.shared import Site
from leaderboards.store.exchange import add
from leaderboards.store.intact import seal_parquet
from leaderboards.store.run_file import FileError, read_runs, write_table
from leaderboards.store.store import Store, StoreError
from leaderboards.text import visible
from leaderboards.work.checkpoint import Checkpoint, key_file, sign, unsign
from tests.browser import Open
from tests.leaderboards.folders import folder, record
from tests.leaderboards.hostile import CANARY, ENV, archive, results_file, rewrite

ODD = "a\x1b]0;owned\x07\u202eb\u200b\x00\ud800é漢"
SEEN = r"a\x1b]0;owned\x07\u202eb\u200b\x00\ud800é漢"


def commands(arguments: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


# ---- texts ----


def test_what_cannot_be_seen_is_written_as_an_escape() -> None:
    assert visible(ODD) == SEEN
    assert visible("plain é漢 🙂 ½\tx\n") == "plain é漢 🙂 ½\tx\n"
    assert visible("\u2066\u2028\r\x7f\x9b") == r"\u2066\u2028\r\x7f\x9b"


def test_labels_are_visible_and_ids_are_refused() -> None:
    assert Ref("GP-UCB", label=ODD).label == SEEN
    assert Ref("GP-UCB", label="two\nlines").label == "two lines"
    assert Ref("GP-UCB", label=ODD) != Ref("GP-UCB", label="ab")
    for wrong in ("a\x1b[31m", "a\u202e", "a\nb", "a\ud800"):
        with pytest.raises(ValueError, match="id: expected no invisible characters"):
            Ref(wrong)
    for name in ("id", "label"):
        with pytest.raises(ValueError, match=f"{name}: expected at most 200 characters, got 201"):
            replace(Ref("x"), **{name: "y" * 201})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("repetition", 2**31), ("horizon", 10**40), ("seed", 2**128)])
def test_enormous_numbers_of_a_spec_are_refused(name: str, value: int) -> None:
    spec = RunSpec(env=ENV, agent=Ref("Uniform"), repetition=0, horizon=5, seed=2**128 - 1)
    with pytest.raises(ValueError, match=f"{name}: expected an integer from [01] to "):
        replace(spec, **{name: value})  # type: ignore[arg-type]


def test_a_suite_of_too_many_runs_is_refused() -> None:
    suite = {"name": "s", "horizon": 5, "environments": [{"id": "x"}], "agents": [{"id": "y"}, {"id": "z"}]}
    parse_suite(suite | {"repetitions": MOST_RUNS // 2})
    with pytest.raises(SuiteError, match="expected at most 1,000,000 runs, got 1,000,002"):
        parse_suite(suite | {"repetitions": MOST_RUNS // 2 + 1})
    with pytest.raises(SuiteError, match="horizon"):
        parse_suite(suite | {"repetitions": 1, "horizon": 10**30})
    with pytest.raises(SuiteError, match="id: expected no invisible"):
        parse_suite(suite | {"repetitions": 1, "agents": [{"id": "\ud800"}]})


# ---- archives ----


@pytest.fixture
def good(tmp_path: Path) -> tuple[str, bytes]:
    """Name and content of a results file as `pack` would list it."""
    path = Store(tmp_path / "theirs").write(record(ENV, Ref("Uniform"), 0, 20))
    return path.name, path.read_bytes()


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name",
    ["../../evil.parquet", "/tmp/evil.parquet", "C:\\evil.parquet", "runs/../../evil.parquet", "a\x1b[2Jb", "\u202e"],
)
def test_an_archive_chooses_no_name(tmp_path: Path, good: tuple[str, bytes], name: str) -> None:
    made = archive(tmp_path / "x.zip", {name: good[1]})
    before = files(tmp_path)
    assert add(made, tmp_path / "deep" / "ours").runs == 1
    new = files(tmp_path) - before
    assert {Path(file).parts[:2] for file in new} == {("deep", "ours")}
    assert sum(file.endswith(".parquet") for file in new) == 1
    assert all(visible(file) == file for file in new)


def _symlink(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        link = zipfile.ZipInfo("link.parquet")
        link.external_attr = 0o120777 << 16
        hashes = {"link.parquet": hashlib.sha256(b"/etc/passwd").hexdigest()}
        packed.writestr("submission.json", json.dumps({"files": hashes}))
        packed.writestr(link, "/etc/passwd")
    return path


def test_members_that_are_no_results_are_left_out(tmp_path: Path) -> None:
    received = add(_symlink(tmp_path / "x.zip"), tmp_path / "ours")
    assert (received.runs, len(received.rejected)) == (0, 1)
    assert "its content does not match its digest" in received.rejected[0]
    assert not list((tmp_path / "ours").rglob("*.parquet"))


def test_wrong_hashes_and_unlisted_members_are_named(tmp_path: Path, good: tuple[str, bytes]) -> None:
    name, content = good
    made = archive(tmp_path / "x.zip", {name: content, "bad\x1b.parquet": content}, {"bad\x1b.parquet": "0" * 64})
    with zipfile.ZipFile(made, "a") as packed:
        packed.writestr("setup.py", "raise SystemExit")
    received = add(made, tmp_path / "ours")
    assert received.runs == 1
    assert received.rejected == (
        "'setup.py': it is not listed",
        r"'bad\x1b.parquet': its content does not have the hash that the archive states",
    )


def _deflated(path: Path, content: bytes) -> Path:
    return archive(path, {"bomb.parquet": bytes(50_000_000)}, compression=zipfile.ZIP_DEFLATED)


def _overlapping(path: Path, content: bytes) -> Path:
    """A hundred members that are the same part of the archive."""
    archive(path, {"a.parquet": content})
    with zipfile.ZipFile(path, "a") as packed:
        member = packed.getinfo("a.parquet")
        for i in range(100):
            twin = zipfile.ZipInfo(f"twin{i}.parquet")
            twin.header_offset, twin.CRC = member.header_offset, member.CRC
            twin.compress_size = twin.file_size = member.file_size
            packed.filelist.append(twin)
        packed._didModify = True  # type: ignore[attr-defined]
    return path


def _twice(path: Path, content: bytes) -> Path:
    archive(path, {"a.parquet": content})
    with zipfile.ZipFile(path, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("a.parquet", b"other")
    return path


def _encrypted(path: Path, content: bytes) -> Path:
    archive(path, {"a.parquet": content})
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(mark, at + 4)
    path.write_bytes(bytes(raw))
    return path


def _truncated(path: Path, content: bytes) -> Path:
    archive(path, {"a.parquet": content})
    path.write_bytes(path.read_bytes()[:-40])
    return path


def _listing(text: str) -> Callable[[Path, bytes], Path]:
    def make(path: Path, content: bytes) -> Path:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("submission.json", text)
        return path

    return make


def _suite(value: str) -> Callable[[Path, bytes], Path]:
    return lambda path, _: archive(path, {"suite.json": value.encode()})


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_deflated, "expected members without compression"),
        (_encrypted, "expected members without compression and encryption"),
        (_overlapping, "its members state"),
        (_twice, "holds 'a.parquet' twice"),
        (_truncated, "BadZipFile"),
        (lambda path, _: archive(path, {}, {"gone.parquet": "0" * 64}), "gone.parquet"),
        (_listing("[" * 200_000), "RecursionError"),
        (_listing('{"files": 3}'), "expected a hash"),
        (_listing('{"files": {"a": 3}}'), "expected a hash"),
        (_listing("[]"), "TypeError"),
        (_listing('{"files": {"a": ' + "9" * 5000 + "}}"), "ValueError"),
        (_listing('{"schema": 1}'), "KeyError"),
        (_suite("[" * 200_000), "recursion depth"),
        (_suite('{"name": "../x"}'), "SealError"),
    ],
)
def test_bad_archives_are_refused_in_one_line(
    tmp_path: Path, good: tuple[str, bytes], make: Callable[[Path, bytes], Path], reason: str
) -> None:
    made = make(tmp_path / "x.zip", good[1])
    tracemalloc.start()
    with pytest.raises(StoreError, match=reason) as refused:
        add(made, tmp_path / "ours")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(refused.value).startswith(f"{made} is no archive of `gpbandit submit` (")
    assert visible(str(refused.value)) == str(refused.value)
    assert len(str(refused.value).removeprefix(str(made)).splitlines()) == 1
    assert len(str(refused.value).removeprefix(str(made))) < 300
    assert peak < 20_000_000
    assert not (tmp_path / "ours").exists()


# ---- results files ----


def _set(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda metadata: metadata["runs"][0].update(fields)


def _spec(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda metadata: metadata["runs"][0]["spec"].update(fields)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_spec(horizon=10**30), "horizon"),
        (_spec(repetition=-1), "repetition"),
        (_spec(seed=float("inf")), "seed"),
        (_spec(agent={"id": "x\x1b", "kwargs": {}, "label": ""}), "invisible"),
        (_spec(agent={"id": "x", "kwargs": {"a": float("nan")}, "label": ""}), "finite"),
        (_spec(agent={"id": "x", "kwargs": [], "label": ""}), "mapping"),
        (_spec(agent={"id": "x", "kwargs": {"a": ["\ud800"]}, "label": ""}), "lone surrogates"),
        (_spec(agent={"id": "x", "kwargs": {}, "label": "y" * 10_000}), "200 characters"),
        (_spec(agent={"id": "x", "kwargs": {}, "label": "", "evil": 1}), "evil"),
        (_spec(feedback="__import__('os')"), "feedback"),
        (_set(finished=1e300), "finished"),
        (_set(seconds=float("nan")), "seconds"),
        (_set(status="owned"), "status"),
        (_set(columns=["regret\x1b"]), "invisible"),
        (_set(columns=["nothing"]), "no column 'nothing'"),
        (_set(rows=-1), "rows"),
        (_set(rows=10**18), "rows|horizon"),
        (_set(facts={"a": "b"}), "facts"),
        (lambda metadata: metadata["runs"][0]["origin"].update(libraries={}), "numpy"),
        (lambda metadata: metadata.update(schema="x"), "without the gpbandit metadata"),
    ],
)
def test_forged_entries_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str) -> None:
    with pytest.raises(FileError, match=reason) as refused:
        read_runs(results_file(tmp_path, change))
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("values", [["a"] * 20, [b"x"] * 20, [[1.0]] * 20, [{"a": 1}] * 20])
def test_columns_that_hold_no_numbers_are_refused(tmp_path: Path, values: list[Any]) -> None:
    with pytest.raises(FileError, match="column regret: expected numbers"):
        read_runs(results_file(tmp_path, _set(), {"regret": values}))


@pytest.mark.slow
def test_a_file_that_declares_a_billion_rows_is_not_read(tmp_path: Path) -> None:
    path = results_file(tmp_path, _set())
    # Equal numbers are kept once: two hundred million rows in a few kilobytes.
    many = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array([1.0]))
    chunks = pa.table({"regret": pa.chunked_array([many] * 200).cast(pa.float64())})
    pq.write_table(chunks.replace_schema_metadata({b"gpbandit": b"3"}), path, row_group_size=50_000_000)
    path.write_bytes(seal_parquet(path.read_bytes()))
    assert path.stat().st_size < 2_000_000
    with pytest.raises(FileError, match="200,000,000 rows and 200,000,000 values"):
        read_runs(path)
    assert Store(tmp_path).keys() == set()


def test_texts_of_a_file_become_visible(tmp_path: Path) -> None:
    def change(metadata: dict[str, Any]) -> None:
        run = metadata["runs"][0]
        run["spec"]["agent"] = {"id": "GP-UCB", "kwargs": {"name": CANARY}, "label": ODD}
        plain = ODD.replace("\ud800", "")  # a column of texts holds no half of a pair, and JSON does
        run.update(reason=plain, error=f"Traceback\n{plain}", facts={ODD: 1.0})
        run["data"].update(knowledge=ODD, misspecification={ODD: 2.0})
        metadata["origin"]["machine"]["cpu"] = ODD

    (run,) = read_runs(results_file(tmp_path, change))
    assert run.spec.agent.label == run.data.knowledge == run.origin.machine.cpu == SEEN
    plain = SEEN.replace("\\ud800", "")
    assert run.reason == plain
    assert run.error == f"Traceback\n{plain}"
    assert set(run.facts) == set(run.data.misspecification) == {SEEN}


# ---- folders: pages, figures, commands ----


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules on the path that say so when they are imported, and the file in which they say it."""
    modules, said = tmp_path / "modules", tmp_path / "imported"
    modules.mkdir()
    for name in ("trap_agent", "trap_env"):
        (modules / f"{name}.py").write_text(
            f"import pathlib\npathlib.Path({str(said)!r}).write_text({name!r})\nclass Evil: pass\n"
        )
    monkeypatch.syspath_prepend(modules)
    yield said
    for name in ("trap_agent", "trap_env"):
        sys.modules.pop(name, None)


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder whose every text is a stranger's, with odd numbers in its traces."""
    directory = tmp_path / "strange"
    evil = f"{ODD}{CANARY}"[:200]
    envs = [ENV, Ref("trap_env:Evil-v0", label=CANARY[:150]), Ref("GPBandit/Branin-v0", {"a": CANARY}, "__proto__")]
    labels = ["=cmd|' /C calc'!A1", "__proto__", "constructor", "_hidden", "$\\frac{$", "\\input{/etc/passwd}"]
    agents = [Ref("Uniform"), Ref("trap_agent:Evil", label=evil)]
    agents += [Ref("GP-UCB", {"width": float(i + 1)}, label) for i, label in enumerate(labels)]
    folder(directory, envs, agents, repetitions=3, T=20)
    paths = sorted((directory / "runs").iterdir())

    def texts(metadata: dict[str, Any]) -> None:
        metadata["origin"].update(commit=evil, python=evil, libraries={"numpy": evil, "scipy": evil, evil: evil})
        metadata["origin"]["machine"].update(cpu=evil, system=evil, arch=evil)
        for run in metadata["runs"]:
            run.update(facts={evil: 1.0, "optimum": float("inf")})
            run["data"].update(knowledge=evil, misspecification={evil: float("nan")}, sources={evil: evil})

    odd: list[dict[str, list[Any]]] = [
        {"batch": list(range(20, 0, -1))},
        {"regret": [1e308] * 20},
        {"regret": [float("inf"), float("nan")] * 10, "cost": [-1.0] * 20},
        {"inference_regret": [float("-inf")] * 20, "policy_seconds": [float("nan")] * 20},
        {"regret": [True, False] * 10},
        {"regret": [None, 1] * 10},
    ]
    for path, columns in zip(paths, [*odd, *[{}] * len(paths)]):
        rewrite(path, texts, columns)
    crashed = record(ENV, Ref("trap_agent:Evil", label=evil), 7, 20, "crashed", reason=evil, error=f"Traceback\n{evil}")
    Store(directory).write(crashed)
    entries = [{"id": ref.id, "kwargs": dict(ref.kwargs), "label": ref.label} for ref in envs]
    suite = parse_suite(
        {
            "name": "strange",
            "description": evil,
            "horizon": 20,
            "repetitions": 4,
            "environments": entries,
            "agents": [{"id": ref.id, "kwargs": dict(ref.kwargs), "label": ref.label} for ref in agents],
        }
    )
    Store(directory).write_suite(suite)
    return directory


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:Glyph", "ignore:divide")
def test_nothing_that_shows_results_imports_what_they_name(
    strange: Path, trap: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = tmp_path / "ours"
    for command in (
        ["page", strange],
        ["submit", strange, "--out", tmp_path / "x.zip"],
        ["add", tmp_path / "x.zip", ours],
        ["merge", strange, "--out", tmp_path / "merged"],
        ["figures", strange, "--out", tmp_path / "figures"],
    ):
        assert commands(list(map(str, command))) == 0, command
    said = "".join(capsys.readouterr())
    assert visible(said) == said
    assert not trap.exists()
    assert {"trap_agent", "trap_env"}.isdisjoint(sys.modules)


def test_only_replays_import_it_and_they_ask_first(
    strange: Path, trap: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Store(strange).runs().query("agent_id == 'trap_agent:Evil' and env_id == @ENV.id and status == 'done'")
    key = str(runs.index[0])
    for command in ("verify", "audit"):
        assert commands([command, str(strange), "--row", key]) == 2
        said = capsys.readouterr().err
        assert "imports and runs code that the results name and that is not ours: trap_agent:Evil" in said
        assert "nothing was run: give --yes" in said
        assert not trap.exists()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert commands(["verify", str(strange), "--row", key]) == 2
    assert not trap.exists()
    assert commands(["audit", str(strange), "--row", key, "--workers", "1", "--yes"]) == 1
    assert trap.exists()


def test_code_of_this_project_needs_no_question() -> None:
    ours = RunSpec(env=ENV, agent=Ref("GP-UCB"), repetition=0, horizon=5)
    theirs = RunSpec(env=Ref("evil:Env-v0"), agent=Ref("os:system"), repetition=0, horizon=5)
    assert named_code([ours]) == []
    assert named_code([ours, theirs]) == ["evil:Env-v0", "os:system"]
    assert loaded_agent("antigravity:Foo") is None
    assert "antigravity" not in sys.modules
    assert getattr(loaded_agent("GP-UCB"), "__name__", "") == "GPUCB"
    assert loaded_agent("no such agent") is None


def test_the_theory_of_an_enormous_environment_is_not_worked_out(tmp_path: Path) -> None:
    for kwargs in ({"n_arms": 10**12}, {"n_arms": 90_000, "dim": 90_000}):
        directory = tmp_path / str(len(kwargs))
        folder(directory, [Ref("GPBandit/RKHS-v0", kwargs)], [Ref("Uniform")], repetitions=1, T=5)
        site = Site(summarise(Store(directory)), theory=True)
        assert "no environment is built again" in str(site.theory["RKHS"])


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide")
def test_tables_for_papers_hold_text_and_no_commands(strange: Path) -> None:
    site = Site(summarise(Store(strange)))
    latex = latex_table(site)
    assert r"\textbackslash{}input\{/etc/passwd\}" in latex
    for line in latex.splitlines():
        if "input" in line:
            assert r"\input" not in line
    assert visible(latex) == latex


@pytest.mark.parametrize("name", ["site", "site/compare", "site/repetitions", "site/assets", "figures"])
def test_nothing_is_written_through_a_link(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, elsewhere = tmp_path / "r", tmp_path / "elsewhere"
    folder(directory, [ENV], [Ref("Uniform")], repetitions=1, T=20)
    elsewhere.mkdir()
    for file in ("mine.html", "mine.js", "style.css"):
        (elsewhere / file).write_text("mine")
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / name).symlink_to(elsewhere)
    assert commands(["figures" if name == "figures" else "page", str(directory)]) == 2
    assert f"{name} is a link to {elsewhere}, and nothing is written through it" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == dict.fromkeys(
        ("mine.html", "mine.js", "style.css"), "mine"
    )


def test_assets_that_are_links_are_replaced(tmp_path: Path) -> None:
    directory, mine = tmp_path / "r", tmp_path / "mine"
    folder(directory, [ENV], [Ref("Uniform")], repetitions=1, T=20)
    mine.write_text("mine")
    (directory / "site" / "assets").mkdir(parents=True)
    links = [directory / "index.html", *(directory / "site" / "assets" / n for n in ("style.css", "plotly.min.js"))]
    for link in links:
        link.symlink_to(mine)
    build_page(directory)
    assert mine.read_text() == "mine"
    assert not any(link.is_symlink() for link in links)


@pytest.mark.parametrize("name", ["suite.json", "manifest.json", "entries.cache"])
@pytest.mark.parametrize("kind", ["nested", "device", "pipe", "long"])
def test_json_that_never_ends_is_refused(
    tmp_path: Path,
    name: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder(tmp_path, [ENV], [Ref("Uniform")], repetitions=1, T=20)
    path = tmp_path / name
    if kind == "nested":
        path.write_text("[" * 200_000)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        monkeypatch.setattr("leaderboards.store.intact.MOST_JSON", 1000)
        path.write_text(json.dumps({"x": "y" * 2000}))
    code = commands(["page", str(tmp_path)])
    said = capsys.readouterr().err + caplog.text
    if name == "entries.cache":
        assert code == 0, said
        return
    assert code in (0, 2)
    assert "Traceback" not in said
    assert name in said


def test_a_cache_that_lies_leads_nowhere(tmp_path: Path) -> None:
    store = folder(tmp_path, [ENV], [Ref("Uniform")], repetitions=2, T=20)
    store.write_cache()
    path = tmp_path / "entries.cache"
    table = pq.read_table(path)
    for key in ("../../../etc/passwd", "A" * 32):
        keys = pa.array([key] * len(table))
        write_table(path, table.set_column(table.column_names.index("key"), "key", keys))
        assert Store(tmp_path).keys() == store.keys()


def test_a_strangers_checkpoint_is_not_unpickled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return said.write_text, ("owned",)

    checkpoint = Checkpoint(tmp_path / "checkpoints" / "x.pickle")
    checkpoint.path.parent.mkdir()
    evil = pickle.dumps(Evil())
    for content in (evil, bytes(32) + evil, evil[:10], b""):
        checkpoint.path.write_bytes(content)
        assert checkpoint.load() is None
        assert not said.exists()
        assert not checkpoint.path.exists()
    assert "this user has not written it, or it has changed since" in caplog.text
    # One of another user's, whose key is another one.
    with monkeypatch.context() as other:
        other.setattr("platformdirs.user_state_path", lambda _: tmp_path / "other")
        theirs = sign(evil)
        assert unsign(theirs) == evil
        assert key_file().stat().st_mode & 0o077 == 0
    with pytest.raises(ValueError, match="this user has not written it"):
        unsign(theirs)
    with monkeypatch.context() as cut:  # anyone could make the mark of an empty key
        cut.setattr("platformdirs.user_state_path", lambda _: tmp_path / "cut")
        (tmp_path / "cut").mkdir()
        key_file().write_bytes(b"")
        with pytest.raises(OSError, match="expected a key of 32 bytes, got 0; delete it"):
            unsign(theirs)
    pickle.loads(unsign(sign(evil)))
    assert said.exists()


def test_an_audit_that_no_audit_wrote_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from leaderboards.audit.store import audit_runs

    store = Store(tmp_path)
    import leaderboards

    store.write(leaderboards.run(("GPBandit/GPSample-v0", {"n_arms": 20}), "GP-UCB", 0, 10))
    (key,) = store.keys()
    assert not isinstance(next(audit_runs(store, [key], checkpoints=4))[1], str)
    audits = AuditStore(tmp_path)
    table = pq.read_table(audits.path(key))
    whole = json.loads(table.schema.metadata[b"gpbandit-audit"])
    frame = table.to_pandas()

    def write(about: dict[str, Any], rows: pd.DataFrame) -> None:
        made = pa.Table.from_pandas(rows, preserve_index=False)
        metadata = {b"gpbandit-audit": json.dumps({**whole, "about": {**whole["about"], **about}}).encode()}
        write_table(audits.path(key), made.replace_schema_metadata(metadata))

    write({"width": ODD}, frame)
    assert audits.read([key])[key].facts.width == SEEN
    wrong: list[tuple[dict[str, Any], pd.DataFrame]] = [
        ({"delta": "x"}, frame),
        ({"points": [1]}, frame),
        ({}, frame.drop(columns="t")),
        ({}, frame.assign(bytes="x")),
        ({}, frame[::-1]),
        ({}, frame[:0]),
    ]
    for about, rows in wrong:
        write(about, rows)
        caplog.clear()
        assert audits.read([key]) == {}
        assert "was damaged and is set aside (" in caplog.text
        assert len(caplog.text.splitlines()) == 1


# ---- in a browser ----


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide")
def test_pages_run_nothing_of_a_stranger(strange: Path, open_page: Open) -> None:
    build_page(strange)
    pages = [strange / "index.html", *sorted((strange / "site").glob("*.html"))]
    with open_page(pages[0]) as page:
        for path in pages:
            page.goto(path.resolve().as_uri())
            if page.locator("#plot .main-svg").count():
                page.locator("#plot").hover()
            for tab in page.locator("[role=tab]").all():
                tab.click()
            for header in page.locator("th button.sort:visible").all()[:3]:
                header.click()
            assert page.evaluate("window.owned") is None, path.name
            assert page.locator("main img, main svg[onload]").count() == 0
            assert page.locator("a[href^='javascript:']").count() == 0
            assert "\u202e" not in page.content()
        page.goto((strange / "site" / "compare.html").resolve().as_uri())
        options = page.locator("select[name=first] option").all_inner_texts()
        assert {"__proto__", "constructor"} <= set(options)
        for first, second in (("__proto__", "constructor"), ("constructor", "__proto__")):
            page.locator("select[name=first]").select_option(first)
            page.locator("select[name=second]").select_option(second)
            page.wait_for_function("name => document.querySelector('h1').innerText.startsWith(name)", arg=first)
            assert page.locator("#comparison tbody tr").count() >= 1
            assert page.evaluate("window.owned") is None
            assert page.evaluate("({}).rows") is None, "no prototype was changed"
