"""Boards: what is kept of runs, read like a results folder, alone and joined with one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import agents
import leaderboards
from benchmarks.optima import suite_optima, write
from gpbandit_envs.functions import maximum, optima
from gpbandit_envs.functions.gp_draws import GPSampleBox
from gpbandit_envs.functions.rkhs import RKHSBox
from gpbandit_envs.gp import Matern
from leaderboards.api.results import Results
from leaderboards.play.spec import Ref
from leaderboards.play.suite import load_suite, parse_suite
from leaderboards.publish import boards
from leaderboards.publish.boards import (
    Board,
    board,
    board_names,
    board_of,
    note_board,
    open_results,
    pack_board,
    rivals_of,
)
from leaderboards.publish.check import renew
from leaderboards.publish.labels import fault, looks_like
from leaderboards.publish.make import play_board, write_board
from leaderboards.score.scores import kept_scores
from leaderboards.score.summary import score_table, summarise
from leaderboards.store.intact import StoreError
from leaderboards.store.kept import KEPT, keep, kept_times, trace_digest
from leaderboards.store.provenance import MANIFEST
from leaderboards.store.store import Store
from leaderboards.store.union import noted
from leaderboards.text import visible
from leaderboards.verify.fingerprint import _read, fingerprint, imported_files
from tests.leaderboards.folders import record
from tests.leaderboards.publish.boards import HORIZON, REPETITIONS, file_of, small_suite

Made = tuple[Store, Board]

LARGEST_BOARD = 10e6  # bytes; `tests/test_wheel.py` bounds what all take together


def test_a_board_scores_as_its_results_do(made: Made) -> None:
    store, found = made
    whole, kept = summarise(store), summarise(found)
    one, other = score_table(whole).set_index(["task", "agent", "metric"]), score_table(kept)
    other = other.set_index(["task", "agent", "metric"])
    columns = list(one.columns)
    metric = one.index.get_level_values("metric")
    # Of what neither is kept nor follows from what is, nothing is known.
    apart = metric == "policy_seconds"
    # Curves are kept with 16 bits but for their last values, and intervals are differences of them.
    pd.testing.assert_frame_equal(one[~apart][columns], other.loc[one.index][~apart][columns], rtol=1e-4)
    assert whole.facts == kept.facts
    assert {task.knowledge for task in kept.tasks.values()} == {"oracle"}
    assert {task.domain for task in kept.tasks.values()} == {"arms"}
    assert Results(found).ranking().equals(Results(store.directory).ranking())
    with pytest.raises(StoreError, match=r"a board keeps no traces: take Results.curves\(\) or Board.kept"):
        Results(found).traces()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", boards.board_names())
def test_every_row_of_a_board_is_a_run_of_its_suite(name: str) -> None:
    """The key of a run hashes ids and given settings: a change of either would leave rows that no suite asks for."""
    assert set(board(name).entries()) <= {spec.key for spec in load_suite(name).specs()}


def test_curves_are_rounded_to_their_bits_but_for_the_ends_of_what_is_no_clock(made: Made) -> None:
    store, found = made
    key = sorted(store.done_keys())[0]
    kept, trace = found.kept(key), store.trace(key)
    assert kept is not None
    for name, column, bits in (("cumulative_regret", "regret", 16), ("policy_seconds", "policy_seconds", 4)):
        along, whole = kept.curves[name], trace[column].cumsum().to_numpy()[kept.t - 1]
        np.testing.assert_allclose(along, whole, rtol=2.0**-bits * (1 + 1e-12))
        assert not np.allclose(along, whole, rtol=2.0 ** -(bits + 3)), f"{name} has more bits than {bits}"
        assert (along[-1] == whole[-1]) == (name != "policy_seconds")


def test_the_digest_is_of_what_was_done_and_came_of_it(made: Made) -> None:
    store, _ = made
    trace = store.trace(sorted(store.done_keys())[0])
    digest = trace_digest(trace)
    assert trace_digest(trace.assign(policy_seconds=0.0, of_the_agent=1.0)) == digest
    for name in ("action", "reward", "regret", "inference_regret"):
        values = trace[name].to_numpy().copy()
        values[-1] += 1
        changed = trace.assign(**{name: values})
        assert trace_digest(changed) != digest, name


def test_unknown_optima_are_measured_from_the_best_of_both(tmp_path: Path) -> None:
    """The board's runs found 0.9, a later one 1.5: all regret is measured from that."""
    env = Ref("GPBandit/RKHS-v0", {"n_arms": 25})
    suite = parse_suite(
        {
            "name": "unknown",
            "horizon": 80,
            "repetitions": 1,
            "environments": [{"id": env.id, "kwargs": dict(env.kwargs)}],
            "agents": [{"id": "Uniform"}, {"id": "GP-UCB"}],
        }
    )
    store = Store(tmp_path / "results")
    means = {"Uniform": np.linspace(0.1, 0.9, 80), "GP-UCB": np.linspace(0.2, 1.5, 80)}
    for id, mean in means.items():
        run = record(env, Ref(id), 0, 80)
        run.trace = run.trace.assign(mean=mean, regret=np.nan, inference_regret=np.nan)
        run.facts = {}
        store.write(run)
    store.write_suite(suite)
    whole = summarise(store)
    (store.directory / "fingerprints.json").write_text(json.dumps({Ref("Uniform").key: fingerprint(Ref("Uniform"))}))
    found = write_board(suite, tmp_path / "board", store)
    assert found.runs()["agent"].tolist() == ["Uniform"]
    later = Store(tmp_path / "later")
    later.write_suite(suite)
    later.write(run)
    joined = summarise(open_results(later.directory, found.directory))
    assert joined.best_found == whole.best_found == {"RKHS": (1.5,)}
    for agent in means:
        one, other = whole.scores["RKHS", agent].finals, joined.scores["RKHS", agent].finals
        for name in ("cumulative_regret", "simple_regret", "average_regret"):
            np.testing.assert_allclose(one[name], other[name], err_msg=f"{agent} {name}")


def test_what_is_not_kept_is_unknown(made: Made) -> None:
    store, _ = made
    key = sorted(store.done_keys())[0]
    kept: Any = keep(store.spec(key), store.trace(key))
    scores = kept_scores(kept)
    assert set(KEPT) < set(scores.curves)
    assert (kept_times(10) == np.arange(1, 11)).all()


def test_a_board_keeps_no_traces_and_nothing_writes_to_it(made: Made) -> None:
    _, found = made
    key = sorted(found.done_keys())[0]
    assert list(found.traces(["regret"])) == []
    with pytest.raises(StoreError, match="keeps no traces"):
        found.trace(key)
    with pytest.raises(StoreError, match="was published, and nothing is written to it"):
        found.write(record(small_suite().environments[0].ref, Ref("Uniform"), 0, HORIZON))
    with pytest.raises(KeyError, match="no run 0"):
        found.trace("0" * 32)
    with pytest.raises(ValueError, match="out: expected a folder"):
        Results(found).page()


def test_the_same_runs_give_the_same_files(made: Made, tmp_path: Path) -> None:
    store, found = made
    again = write_board(small_suite(), tmp_path / "again", store)
    for path in found.directory.rglob("*.*"):
        assert (again.directory / path.relative_to(found.directory)).read_bytes() == path.read_bytes()
    assert again.sha256 == found.sha256


def test_a_board_that_is_not_what_its_index_states_is_refused(own: Board) -> None:
    path = own.runs_directory / file_of(own, "Uniform")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=re.escape("does not have the hash that the manifest states")):
        Board(own.directory)
    path.unlink()
    with pytest.raises(StoreError, match=r"cannot be read .*, which the manifest names"):
        Board(own.directory)
    (own.directory / MANIFEST).write_text("{")
    with pytest.raises(StoreError, match=r"manifest\.json"):
        Board(own.directory)
    with pytest.raises(StoreError, match="holds no board"):
        Board(own.directory.parent)


def test_a_newer_schema_is_named(own: Board) -> None:
    index = json.loads((own.directory / MANIFEST).read_text())
    (own.directory / MANIFEST).write_text(json.dumps({**index, "schema": 99}))
    with pytest.raises(StoreError, match="schema 99, which only a newer version"):
        Board(own.directory)


def test_boards_by_name_path_and_archive(own: Board, tmp_path: Path) -> None:
    assert len(board("small").done_keys()) == 2 * 3 * REPETITIONS
    assert board(own.directory).sha256 == own.sha256
    archive = tmp_path / "small.zip"
    sha256 = pack_board(own, archive)
    assert pack_board(own, tmp_path / "twice.zip") == sha256
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    assert board(tmp_path / "unpacked").sha256 == own.sha256
    with pytest.raises(ValueError, match="expected one of 'small', or a path, got 'smal'"):
        board("smal")


def test_part_of_a_suite_has_the_runs_of_the_whole(own: Board) -> None:
    part = small_suite("part", repetitions=2).model_copy(update={"part_of": "small"})
    found = board_of("board", part)
    assert len(found.done_keys()) == 2 * 3 * 2
    assert found.suite().name == "part"
    with pytest.raises(ValueError, match="no board of suite 'other' comes with the package; there are 'small'"):
        board_of("board", small_suite("other"))


@pytest.mark.no_cover
def test_the_board_that_is_named_is_the_one_that_is_read() -> None:
    part = load_suite("core-v2-lite")
    with pytest.raises(ValueError, match="against: 'feedback-v1' has no run of a task of suite 'core-v2-lite'; the"):
        rivals_of("feedback-v1", part)
    assert board("feedback-v1", part).directory.name == "feedback-v1"
    other = part.model_copy(update={"part_of": "", "environments": part.environments[:1]})
    assert len(rivals_of("core-v2-lite", other).entries()) == 53 * 10
    with pytest.raises(ValueError, match="against: 'core-v2-lite' has no run of a task of suite 'quick'"):
        rivals_of("core-v2-lite", load_suite("quick"))


def test_the_folder_counts_where_both_have_a_run(made: Made, tmp_path: Path) -> None:
    store, found = made
    assert {*store.runs()["standing"]} == {"local"}
    assert {*found.runs()["standing"]} == {"verified"}
    here = Store(tmp_path / "here")
    here.write_suite(small_suite())
    env, agent = (small_suite().environments[0].ref, Ref("Uniform"))
    again = record(env, agent, 0, HORIZON)
    new = record(env, Ref("GP-EI"), 0, HORIZON)
    crashed = record(env, Ref("EpsGreedy"), 0, HORIZON, "crashed", reason="broken")
    here.write(again, new)
    here.write(crashed)
    joined = open_results(here.directory, found.directory)
    runs = joined.runs()
    assert len(runs) == len(found.entries()) + 1
    local = runs[runs["standing"] == "local"]
    assert sorted(local["agent"]) == ["GP-EI", "Uniform"]
    assert runs.loc[crashed.spec.key, "status"] == "done"
    assert joined.kept(again.spec.key).digest == trace_digest(again.trace)  # type: ignore[union-attr]
    assert joined.kept(crashed.spec.key) is not None
    assert joined.trace(again.spec.key, ["regret"])["regret"].equals(again.trace["regret"])
    assert [run.key for run, _ in joined.traces(["regret"], [again.spec.key, crashed.spec.key])] == [again.spec.key]
    assert joined.path(joined.entry(again.spec.key)).parent == here.runs_directory
    assert joined.path(joined.entry(crashed.spec.key)).parent == found.runs_directory
    scores = summarise(joined)
    curve = scores.scores["d = 1", "GP-EI"].curves["cumulative_regret"]
    assert curve.shape == (1, len(kept_times(HORIZON)))
    assert curve[0, -1] == pytest.approx(new.trace["regret"].sum())


def test_the_note_of_a_folder(made: Made, tmp_path: Path) -> None:
    _, found = made
    here = Store(tmp_path)
    assert noted(tmp_path) is None
    here.write(record(small_suite().environments[0].ref, Ref("GP-EI"), 0, HORIZON))
    with pytest.raises(ValueError, match="expected the folder of a suite"):
        open_results(tmp_path, found.directory)
    here.write_suite(small_suite())
    note_board(tmp_path, str(found.directory))
    assert len(open_results(tmp_path).entries()) == len(found.entries()) + 1
    (tmp_path / "against.json").write_text("[]")
    with pytest.raises(StoreError, match=r"against\.json is damaged"):
        open_results(tmp_path)


@pytest.mark.slow
def test_stale_rows_are_named_and_played_anew(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own.stale() == {}
    index = json.loads((own.directory / MANIFEST).read_text())
    name = file_of(own, "EpsGreedy")
    index["files"][name]["source"]["fingerprint"] = "0" * 16
    (own.directory / MANIFEST).write_text(json.dumps(index))
    stale = Board(own.directory)
    assert stale.stale() == {name: "EpsGreedy"}
    said: list[str] = []
    store = Store(tmp_path / "anew")
    play_board(small_suite(), store, stale, say=said.append)
    assert set(store.runs()["agent"]) == {"EpsGreedy"}
    assert said == ["played: 12 done"]
    now = write_board(small_suite(), own.directory, store)
    assert now.stale() == {}
    assert len(now.done_keys()) == len(stale.done_keys())
    assert renew(own.directory, [file_of(now, "EpsGreedy")]).stale() == {}


@pytest.mark.slow
def test_runs_of_code_that_has_changed_since_are_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path)
    suite = small_suite(repetitions=1)
    said: list[str] = []
    play_board(suite, store, None, say=said.append)
    before = store.runs()["finished"]
    notes = json.loads((tmp_path / "fingerprints.json").read_text())
    (tmp_path / "fingerprints.json").write_text(json.dumps({**notes, Ref("Uniform").key: "0" * 16}))
    assert "Uniform" not in set(write_board(suite, tmp_path / "without", store).runs()["agent"])
    play_board(suite, store, None, say=said.append)
    runs = store.runs()
    changed = runs["finished"] != before.loc[runs.index]
    assert set(runs.loc[changed, "agent"]) == {"Uniform"}


def test_fingerprints_see_code_and_nothing_else(tmp_path: Path) -> None:
    own_agent: Any = fingerprint(Ref("GP-UCB"))
    assert own_agent == fingerprint(Ref("GP-UCB", {"width": 2.0}, "another label"))
    assert own_agent != fingerprint(Ref("GP-EI"))
    assert fingerprint(Ref("my_agent:MyAgent")) is None
    by_path = fingerprint(Ref("agents.adapters.optuna_study:OptunaStudy"))  # as boards of other libraries name them
    assert by_path not in (None, fingerprint(Ref("agents.adapters.baybe_campaign:BayBE")))
    assert fingerprint(Ref("agents.nothing:Nobody")) is None
    code = '"""About it."""\nx = 1  # one\n\n\ndef f() -> str:\n    """Says so."""\n    return "# not a comment"\n'
    same = 'x = 1\ndef f() -> str:\n    return "# not a comment"\n'
    for name, text in (("a.py", code), ("b.py", same), ("c.py", code.replace("1", "2"))):
        (tmp_path / name).write_text(text)
    one, other, changed = (_read(tmp_path / name)[0] for name in ("a.py", "b.py", "c.py"))
    assert one == other != changed


def test_fingerprints_see_what_is_imported_and_not_where(tmp_path: Path) -> None:
    above = "from é import (\n    x,  # é\n    y as z,\n)\nimport b\n\ndef f(): return x, z, b\n"
    within = 'def f():\n    import b; "é"; from é import x\n    from é import y as z\n    return x, z, b\n'
    other = above.replace("y as", "w as")
    for name, text in (("a.py", above), ("b.py", within), ("c.py", other)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ours = ["from é import x as None", "from é import y as z", "import b as None"]
    assert _read(tmp_path / "a.py")[0].split("\n") == [*ours, "def f(): return x, z, b"]
    assert _read(tmp_path / "b.py")[0].split("\n")[:4] == [*ours, "def f():"]
    assert _read(tmp_path / "c.py")[0].split("\n")[0] == "from é import w as z"


def test_what_is_imported_for_the_type_checker_alone_is_no_part_of_a_fingerprint(tmp_path: Path) -> None:
    for name in ("checked", "played", "otherwise"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import typing\nfrom typing import TYPE_CHECKING\nimport played\n"
        "if TYPE_CHECKING:\n    import checked\nelse:\n    import otherwise\n"
        "if typing.TYPE_CHECKING:\n    from checked import x\n"
    )
    assert [path.stem for path in imported_files(agent, tmp_path)] == ["agent", "otherwise", "played"]


def test_an_agent_without_a_sketch_does_not_change_with_it() -> None:
    root = Path(agents.__file__).parents[1]
    sketch = root / "gpbandit_envs" / "gp" / "sketch.py"
    packages = ("agents", "gpbandit_envs")
    assert sketch not in imported_files(root / "agents" / "exact" / "gp_ucb.py", root, packages)
    assert sketch in imported_files(root / "agents" / "sketched" / "bkb.py", root, packages)


def test_the_held_out_instances_are_others() -> None:
    public, held_out = load_suite("core-v2"), load_suite("core-v2/holdout")
    assert held_out.name == "core-v2-holdout"
    assert held_out.seed != public.seed
    assert held_out.environments == public.environments
    assert load_suite("core-v2/holdout").seed == held_out.seed


@pytest.mark.parametrize("kind", ["core", "boxes"])
def test_lite_suites_are_parts(kind: str) -> None:
    whole = {spec.key for spec in load_suite(f"{kind}-v2").specs()}
    lite = load_suite(f"{kind}-v2-lite")
    assert lite.part_of == f"{kind}-v2"
    assert {spec.key for spec in lite.specs()} < whole


def test_boards_of_the_package_are_small() -> None:
    whole = [name for name in leaderboards.board_names() if not load_suite(name).part_of]
    assert whole
    for name in whole:
        assert sum(path.stat().st_size for path in boards.board_folder(name).rglob("*.*")) <= LARGEST_BOARD


# ---- what is declared of rows: what their settings were tuned on ----


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["core-v2", "boxes-v2"])
def test_every_row_of_the_newest_boards_declares_what_it_was_tuned_on(name: str) -> None:
    declared = {entry.ref.label: entry.tuned for entry in load_suite(name).agents}
    assert all(declared.values())
    assert {entry.ref.label: entry.tuned for entry in board(name).suite().agents} == declared


# ---- labels of rows: one way to write each, and none that is taken for another's ----


ON_BOARD = ["MAP-BUCB", "GP-EI", "GP-UCB, width 2", "Uniform"]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("МAP-BUCB", r"expected letters of one script in each word, got CYRILLIC and LATIN in '\u041cAP-BUCB'"),
        ("GP-EI ", "expected a label without blanks at its ends"),
        (" GP-EI", "expected a label without blanks at its ends"),
        ("GP  EI", "expected a label without blanks at its ends"),
        ("GP\u00a0EI", r"expected a label in its normal form (NFKC), got 'GP\xa0EI'"),
        ("GP\u2010EI", "expected letters, digits and plain punctuation"),
        ("GP\u2212EI", "expected letters, digits and plain punctuation"),
        ("GP\u3164EI", "expected a label in its normal form"),
        ("GP\u1160EI", "expected letters, digits and plain punctuation"),
        ("GP\u2800EI", "expected letters, digits and plain punctuation"),
        ("GP\u200bEI", "expected letters, digits and plain punctuation"),
        ("GP\u202eEI", "expected letters, digits and plain punctuation"),
        ("\uff27\uff30-EI", "expected a label in its normal form"),
        ("\U0001d40cine", "expected a label in its normal form"),
        ("Mine ✓", "expected letters, digits and plain punctuation"),
        ("Mine\nOther", "expected letters, digits and plain punctuation"),
        ("\ua4df\ua4ee\ua4d1", "expected letters of Latin, Greek, Cyrillic, Chinese, Japanese or Korean"),  # Lisu
        ("\u13b7\u13aa\u13e2", "expected letters of Latin, Greek"),  # Cherokee
        ("\u1d0d\u1d00\u1d18", "expected letters of Latin, Greek"),  # small capitals
        (
            "\u05d0\u05d1 12 (3)",
            "expected letters of Latin, Greek",
        ),  # from right to left: digits and signs change places
        ("GP\u034fEI", "expected letters, digits and plain punctuation"),  # a joiner, drawn as nothing
        ("GP-E\u0337I", "expected letters, digits and plain punctuation"),  # a stroke through the letter before
        ("GP-EI" + "\u0e49" * 9, "expected letters, digits and plain punctuation"),  # a tower of marks
        ("GP\ufe0fEI", "expected letters, digits and plain punctuation"),  # a variation selector
        ("MAP-BUCB (verified)", "expected a label without 'verified', which is for boards to say"),
        ("Mine, Verified!", "expected a label without 'verified'"),
        ("", "expected a label without blanks"),
    ],
)
def test_a_label_has_one_form(label: str, message: str) -> None:
    assert message in str(fault(label))


@pytest.mark.parametrize("label", ["Greedy", "every 3rd", "Grüßi, α = 0.5", "灰色 ベイズ", "ВОРЕ 2", "a|b_c (x)"])
def test_honest_labels_are_taken(label: str) -> None:
    assert fault(label) is None
    assert looks_like(label, ON_BOARD) is None


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("МАР-ВUСВ", "MAP-BUCB"),
        ("map bucb", "MAP-BUCB"),
        ("GP-E1", "GP-EI"),
        ("GP-El", "GP-EI"),
        ("Un\u0131form", "Uniform"),
        ("\u039c\u0391\u03a1-\u0392UC\u0392", "MAP-BUCB"),
        ("Unif0rrn", "Uniform"),
    ],
)
def test_a_label_is_not_taken_for_another(label: str, other: str) -> None:
    assert looks_like(label, ON_BOARD) == other
    assert looks_like("Unifоrm", ON_BOARD) == "Uniform"


def test_the_labels_of_the_boards_are_such() -> None:
    for name in board_names():
        labels = sorted({entry.ref.label for entry in board(name).suite().agents})
        assert not [label for label in labels if fault(label)]
        assert not [one for one in labels if looks_like(one, [other for other in labels if other != one])]


@pytest.mark.parametrize("character", ["\u3164", "\u2800", "\u00a0", "\u1160", "\u200b"])
def test_what_is_not_seen_is_shown(character: str) -> None:
    assert visible(f"a{character}b") == f"a{character.encode('unicode_escape').decode()}b"


# ---- maxima of drawn functions, which are searched once ----


SUITE = parse_suite(
    {
        "name": "small",
        "horizon": 6,
        "repetitions": 2,
        "environments": [
            {"id": "GPBandit/RKHS-v0", "label": "arms", "kwargs": {"n_arms": 20}},
            {"id": "GPBandit/GPSample-v0", "label": "box", "kwargs": {"n_arms": "box", "dim": 1}},
        ],
        "agents": ["Random", "GP-EI"],
    }
)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a maximum was searched, with nothing remembered before."""
    counted: list[int] = []
    search = maximum._search

    def counting(f: maximum.Smooth, dim: int, *rest: Any) -> optima.Found:
        counted.append(dim)
        return search(f, dim, *rest)

    monkeypatch.setattr(maximum, "_search", counting)
    monkeypatch.setattr(optima, "FOUND", {})
    return counted


@pytest.mark.parametrize("family", [GPSampleBox(Matern(0.3, nu=2.5), 1), RKHSBox(Matern(0.3, nu=2.5), 1, 1.0, 8)])
def test_the_maximum_of_a_function_is_searched_once(family: GPSampleBox | RKHSBox, searches: list[int]) -> None:
    first, again, other = (family.draw(np.random.default_rng(seed)).certificate for seed in (0, 0, 1))
    assert searches == [1, 1]
    assert again == first
    assert other != first


def test_maxima_are_kept_in_a_file_by_what_the_function_is(tmp_path: Path, searches: list[int]) -> None:
    found = suite_optima(SUITE)
    assert len(found) == len(searches) == 2  # one a repetition of the box
    write(found, tmp_path / "optima.json")
    assert optima.shipped(tmp_path / "optima.json") == found
    sample = GPSampleBox(Matern(0.1, nu=2.5), 1).draw(np.random.default_rng(0)).evaluate
    key: Any = optima.key_of(sample, 1)
    assert key != optima.key_of(sample, 2)
    sample.weights[0] = np.nextafter(sample.weights[0], 2.0)  # type: ignore[attr-defined]
    assert key != optima.key_of(sample, 1)
    assert optima.key_of(np.sin) is None


def test_boxes_v2_is_searched_already(searches: list[int]) -> None:
    from leaderboards.play.run import instance_env
    from leaderboards.play.suite import load_suite

    if not optima.shipped():
        pytest.skip("no maxima come with the package")
    spec = next(spec for spec in load_suite("boxes-v2").specs() if spec.env.kwargs.get("dim") == 8)
    with instance_env(spec) as (env, _):
        known = env.certificate.optimum
        assert env.mean(np.array([env.certificate.optimal_action]))[0] == pytest.approx(known, rel=1e-9)
        best = env.mean(np.random.default_rng(0).random((5_000, 8))).max()
    assert best <= known
    if searches:  # a mathematical library that gives other bits
        pytest.skip("the functions that are drawn here have other bits than those of the file")
