"""What `gpbandit` imports before it knows what is asked of it: nothing that takes long."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

import agents
import gpbandit_envs
import leaderboards
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards import own_agents
from leaderboards.cli.app import app
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.play.build import load_plugins
from leaderboards.play.suite import load_suite, suite_names
from leaderboards.text import wall_time

HEAVY = (
    *("pandas", "scipy", "plotly", "pyarrow", "rich", "seaborn", "matplotlib", "jinja2", "jaxtyping"),
    *("distributed", "dask", "loky", "optuna", "torch", "xgboost", "statsmodels", "sklearn"),
)
OURS = (
    *("agents", "gpbandit_envs.envs", "gpbandit_envs.gp", "gpbandit_envs.datasets"),
    *(f"leaderboards.{room}" for room in ("play", "store", "work", "verify", "score", "archive")),
)
IMPORTED = """
import sys
from leaderboards.cli import main
try:
    main(sys.argv[1:])
finally:
    print("imported", *sys.modules)
"""


def imported_by(*arguments: str) -> set[str]:
    """Modules that are there when a command has ended."""
    ended = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    return set(ended.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [("--help",), ("list", "--help"), ("list",)], ids=" ".join)
def test_nothing_heavy_is_imported(arguments: tuple[str, ...]) -> None:
    modules = imported_by(*arguments)
    assert "typer" in modules
    assert modules & set(HEAVY) == set()
    if not load_plugins():  # which are imported, with all they need
        assert not [name for name in modules if name.startswith(OURS)]


def test_help_needs_neither_numpy_nor_gymnasium() -> None:
    assert imported_by("--help") & {"numpy", "gymnasium"} == set()


def test_lists_agree_with_what_is_imported(capsys: pytest.CaptureFixture[str]) -> None:
    """The lists are read from sources; here they meet the classes and models that these sources make."""
    command = typer.main.get_command(app)
    command(["list"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    for row in ENVIRONMENTS:
        assert f"  {row.id}  (horizon {row.horizon}, {row.states_kernel})" in lines
    for id in agents._BUILT_IN:
        assert f"  {id}" in lines
    for name in suite_names():
        suite = load_suite(name)
        assert f"  {name}  ({sum(1 for _ in suite.specs())} runs)  {suite.description}" in lines


def test_the_help_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    typer.main.get_command(app)(["--help"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[1:] if line.endswith("...")]


def test_the_package_offers_its_names() -> None:
    import leaderboards

    assert all(getattr(leaderboards, name) for name in leaderboards.__all__)
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = leaderboards.walk


@pytest.mark.parametrize("package", [leaderboards, gpbandit_envs], ids=lambda package: package.__name__)
def test_completion_shows_names_that_are_imported_at_first_use(package: ModuleType) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", f"import {package.__name__} as p; print(*dir(p))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(package.__all__) <= set(ended.stdout.split())
    assert "__doc__" in dir(package)


# ---- wall time ----


CLOCK = "by the wall clock, which counts what else the machine did"


def test_long_runs_are_counted_in_hours() -> None:
    assert wall_time([1800.0, 3600.0, 0.4]) == f"1.5 core hours {CLOCK}; the longest run 3600 s"


def test_short_runs_are_counted_in_seconds() -> None:
    assert wall_time([20.0, 30.0]) == f"50 core seconds {CLOCK}; the longest run 30 s"


def test_of_no_runs_nothing_is_said() -> None:
    assert wall_time([]) == ""


# ---- what the command line makes of errors of the system: what it says must be what happened ----


def said(directory: Path, number: int, *arguments: object) -> str:
    with pytest.raises(UserError) as raised, user_errors(directory):
        raise OSError(number, os.strerror(number), *arguments)
    return str(raised.value)


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG"])
def test_a_full_disk(tmp_path: Path, name: str) -> None:
    text = said(tmp_path, getattr(errno, name))
    assert text.startswith(f"cannot write to {tmp_path} (")
    assert "what was done before is kept; make room, then give the same command again" in text


@pytest.mark.parametrize("name", ["EACCES", "EPERM", "EROFS"])
def test_a_folder_that_may_not_be_written(tmp_path: Path, name: str) -> None:
    text = said(tmp_path, getattr(errno, name), str(tmp_path / "runs"))
    assert text.startswith(f"cannot write to {tmp_path / 'runs'} (")
    assert "make it writable, or give another folder" in text
    assert "room" not in text


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    assert said(tmp_path, errno.EACCES, str(tmp_path / "x.parquet")).startswith(f"cannot read {tmp_path / 'x.parquet'}")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file" / "out", Path("/proc/gpbandit")):
        with pytest.raises(UserError) as raised, user_errors(out):
            (out / "runs").mkdir(parents=True)
        assert str(raised.value).startswith(f"cannot write to {out}, which cannot be made (")
        assert str(raised.value).endswith("): give another folder with --out")


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch()
    with pytest.raises(UserError) as raised, user_errors(out):
        (out / "suite.json").read_text()
    assert str(raised.value).startswith(f"cannot write to {out}: {out} is in the way (Not a directory)")
    out.unlink()
    out.mkdir()
    (out / "runs").touch()
    with pytest.raises(UserError) as raised, user_errors(out):
        (out / "runs").mkdir(parents=True, exist_ok=True)
    assert str(raised.value).startswith(f"cannot write to {out}: {out / 'runs'} is in the way (File exists)")


def test_a_folder_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out, runs = Path("out"), str(tmp_path / "out" / "runs")
    assert said(out, errno.EACCES, runs).startswith("cannot write to out/runs (")
    assert said(out, errno.ENOTDIR, runs).startswith("cannot write to out, which cannot be made (")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    def make(out: Path) -> None:
        str(out).encode()
        out.mkdir()

    for name, says in (("x" * 300, "File name too long"), ("\udcff", "surrogates not allowed")):
        with pytest.raises(UserError, match=says), user_errors(tmp_path / name):
            make(tmp_path / name)


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (OSError(errno.EMFILE, "Too many open files", "x"), "OSError: Too many open files (x)"),
        (OSError("Couldn't deserialize thrift"), "OSError: Couldn't deserialize thrift"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset"), "ConnectionResetError: Connection reset"),
    ],
)
def test_all_else_says_what_it_is(tmp_path: Path, error: OSError, begins: str) -> None:
    with pytest.raises(UserError) as raised, user_errors(tmp_path):
        raise error
    expected = f"{begins}; what was done before is kept in {tmp_path}, and the same command goes on from there"
    assert str(raised.value) == expected


# ---- another `agents` in the place of this project's is refused, by its file, before it runs ----


ROOT = Path(__file__).parents[2]


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Python with `folder` before this project in the path, as that of a script is."""
    path = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]; "
    return subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True, check=False, cwd=folder)


def test_a_file_of_ones_own_is_named_and_not_run(tmp_path: Path) -> None:
    own = tmp_path / "agents.py"
    own.write_text("print('it ran')\n")
    ended = run(tmp_path, "import leaderboards")
    assert ended.stderr.splitlines()[-1] == (
        f"ImportError: agents: expected the package of gpbandit-envs, found {own} first; rename it"
    )
    assert ended.stdout == ""


def test_another_distribution_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    (site / "agents").mkdir(parents=True)
    (site / "agents" / "__init__.py").write_text("")
    (site / "other_agents-1.0.dist-info").mkdir()
    (site / "other_agents-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: other-agents\nVersion: 1.0\n"
    )
    (site / "other_agents-1.0.dist-info" / "top_level.txt").write_text("agents\n")
    ended = run(site, "import leaderboards")
    assert ended.stderr.splitlines()[-1].endswith(
        f"found {site / 'agents' / '__init__.py'} first; uninstall other-agents"
    )


@pytest.mark.parametrize("init", ["print('it ran')\n", None])
def test_ours_that_another_package_has_written_over(tmp_path: Path, init: str | None) -> None:
    """As pip leaves it: the files of both in one folder, or, with the other uninstalled, ours without `__init__.py`."""
    site = tmp_path / "site-packages"
    shutil.copytree(ROOT / "agents", site / "agents", ignore=shutil.ignore_patterns("__pycache__"))
    own = site / "agents" / "__init__.py"
    if init is None:
        own.unlink()
    else:
        own.write_text(init)
        (site / "other_agents-1.0.dist-info").mkdir()
        (site / "other_agents-1.0.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: other-agents\nVersion: 1.0\n"
        )
        (site / "other_agents-1.0.dist-info" / "top_level.txt").write_text("agents\n")
    code = f"import sys, runpy; sys.path.insert(0, {str(site)!r}); runpy.run_path({own_agents.__file__!r})['_check']("
    code += "'agents', 'core/protocol.py', 'Bandit policies behind one protocol')"
    # Without the packages of this environment, among which ours is whole.
    ended = subprocess.run([sys.executable, "-ISc", code], capture_output=True, text=True, check=False, cwd=site)
    last = ended.stderr.splitlines()[-1]
    assert "which another package has written over; " in last, ended.stderr
    assert last.endswith("install gpbandit-envs again")
    assert ("uninstall other-agents and" in last) == (init is not None)
    assert ended.stdout == ""


@pytest.mark.parametrize("words", [["run", "quick", "--agent", "mine:Own"], ["run", "own.toml"], ["show", "own.toml"]])
def test_commands_say_in_one_line_that_the_folder_holds_another(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "agents.py").write_text("print('it ran')\n")
    code = f"import leaderboards.cli; sys.path[:] = [p for p in sys.path if p != {str(tmp_path)!r}]; "
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; "
    give = [sys.executable, "-P", "-c", f"{path}{code}leaderboards.cli.main({words!r})"]
    ended = subprocess.run(give, capture_output=True, text=True, check=False, cwd=tmp_path)
    own = tmp_path / "agents.py"
    assert ended.returncode == 2
    assert ended.stderr == f"error: agents: expected the package of gpbandit-envs, found {own} first; rename it\n"
    assert ended.stdout == ""


@pytest.mark.parametrize("name", ["agents", "gpbandit_envs"])
@pytest.mark.parametrize("form", ["file", "package", "folder"])
@pytest.mark.parametrize("way", ["script", "-m"])
def test_they_say_it_where_the_folder_comes_first_in_the_path(tmp_path: Path, name: str, form: str, way: str) -> None:
    found = {"file": f"{name}.py", "package": f"{name}/__init__.py", "folder": name}[form]
    (tmp_path / found).parent.mkdir(exist_ok=True)
    (tmp_path / found).mkdir() if form == "folder" else (tmp_path / found).write_text("print('it ran')\n")
    give = [sys.executable, "-m", "leaderboards.cli", "list"]
    if way == "script":  # as pip writes it
        (tmp_path / "bin").mkdir()
        give[1:3] = [str(tmp_path / "bin" / "gpbandit")]
        Path(give[1]).write_text("from leaderboards.cli import main\nmain()\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    ended = subprocess.run(
        give, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    here = tmp_path / found
    if form == "folder":  # which holds nothing, so that a package behind it wins
        assert ended.returncode == 0, ended.stderr
        return
    assert ended.stderr == f"error: {name}: expected the package of gpbandit-envs, found {here} first; rename it\n"
    assert (ended.returncode, ended.stdout) == (2, "")


def test_one_that_is_imported_already(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("")
    ended = run(tmp_path, "import agents; import leaderboards")
    assert f"found {tmp_path / 'agents.py'} first; rename it" in ended.stderr


def test_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"agents: expected the package of gpbandit-envs, .*, found none; install it"):
        own_agents.check()
