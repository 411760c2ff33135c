"""Another `agents` in the place of this project's is refused, by its file, before it runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboards import own_agents

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
