"""What is prepared for a release says what the package says, and its one address is filled in everywhere."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gpbandit_envs
from gpbandit_envs.version import ADDRESS
from tests.modules import module_at

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "release"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> str:
    return (RELEASE / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fill() -> Any:
    return module_at(RELEASE / "fill.py")


def test_all_state_the_version_and_the_licence() -> None:
    version = gpbandit_envs.__version__
    zenodo, codemeta = json.loads(read(".zenodo.json")), json.loads(read("codemeta.json"))
    assert zenodo["version"] == codemeta["version"] == version
    assert f"\nversion: {version}\n" in read("CITATION.cff")
    assert f'version: "{version}"' in read("conda/recipe.yaml")
    assert f"version {version}:" in read("dataset/README.md")
    assert zenodo["license"] == PROJECT["license"] == codemeta["license"].rpartition("/")[2]
    assert f"license: {PROJECT['license']}\n" in read("CITATION.cff")
    assert codemeta["description"] == PROJECT["description"]
    assert f"summary: {PROJECT['description']}" in read("conda/recipe.yaml")


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = read("conda/recipe.yaml")
    listed = re.findall(r"^    - ([\w-]+) (>=\S+)$", recipe.partition("  run:")[2].partition("tests:")[0], re.MULTILINE)
    assert sorted(name + bound for name, bound in listed if name != "python") == sorted(PROJECT["dependencies"])
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in recipe
    host = re.findall(r"^    - (\w+) (>=\S+)$", recipe.partition("host:")[2].partition("  run:")[0], re.MULTILINE)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert sorted(name + bound for name, bound in host) == sorted(build)
    ((name, entry),) = PROJECT["scripts"].items()
    assert f"- {name} = {entry}\n" in recipe


def test_the_address_is_one_variable(fill: Any, tmp_path: Path) -> None:
    shutil.copytree(
        RELEASE, tmp_path / "release", ignore=shutil.ignore_patterns("__pycache__")
    )  # other tests play them
    (tmp_path / "gpbandit_envs").mkdir()
    shutil.copy(ROOT / "gpbandit_envs" / "version.py", tmp_path / "gpbandit_envs")
    states = {path.relative_to(tmp_path) for path in (tmp_path / "release").rglob("*.*") if ADDRESS in path.read_text()}
    changed = fill.fill("https://code.example.org/some/gpbandit-envs", tmp_path)
    assert {path.relative_to(tmp_path) for path in changed} == states | {Path("gpbandit_envs/version.py")}
    assert not [path for path in tmp_path.rglob("*.*") if path.is_file() and ADDRESS in path.read_text()]
    for name in fill.TOP:
        assert (tmp_path / name).read_text() == (tmp_path / "release" / name).read_text()
    assert fill.fill("https://other.example.org/gpbandit-envs", tmp_path) == changed  # it may move
    for wrong in ("http://code.example.org/x", "code.example.org/x", "https://code.example.org", "https://a.org/x/"):
        with pytest.raises(ValueError, match="address: expected one such as https"):
            fill.fill(wrong, tmp_path)


def test_no_other_file_of_the_package_states_it() -> None:
    found = [path for path in (ROOT / "gpbandit_envs").rglob("*.py") if ".invalid" in path.read_text(encoding="utf-8")]
    assert found == [ROOT / "gpbandit_envs" / "version.py"]


@pytest.mark.parametrize("name", ["gpbandit_drawn", "gpbandit_noisy_tables"])
def test_folders_for_optunahub_are_whole_and_play(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RELEASE / "optunahub" / name
    assert {"README.md", "LICENSE", "requirements.txt", "__init__.py"} <= {path.name for path in folder.iterdir()}
    head = read(f"optunahub/{name}/README.md").split("---")[1]
    keys = [line.partition(":")[0] for line in head.strip().splitlines()]
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    (source,) = (path.read_text(encoding="utf-8") for path in folder.glob("_[a-z]*.py"))
    listed = re.findall(r'"(\w+)"', re.findall(r"^[A-Z]+ = \((.*?)\)", source, re.MULTILINE | re.DOTALL)[0])
    assert set(listed) <= {row.name for row in gpbandit_envs.registry.ENVIRONMENTS}
    assert all(f"`{each}`" in read(f"optunahub/{name}/README.md") for each in listed)
    pytest.importorskip("optunahub", reason="OptunaHub is not installed; pip install '.[optunahub]'")
    monkeypatch.syspath_prepend(str(folder.parent))
    module = importlib.import_module(name)
    try:
        problem = module.Problem(seed=1)
        point = {each: one._asdict().get("low", 0) for each, one in problem.search_space.items()}
        assert problem.evaluate(point) != problem.evaluate(point)  # noise
        assert problem.mean(point) == problem.mean(point) <= problem.instance.optimum
        with pytest.raises(ValueError, match=r"expected one of .*, got 'nothing'"):
            module.Problem("nothing")
    finally:
        for each in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[each]


def test_the_entry_for_gymnasium_s_list_has_the_template_s_parts() -> None:
    text = read("gymnasium-entry.md")
    assert re.search(rf"^- \[gpbandit-envs: .+\]\({re.escape(ADDRESS)}\)$", text, re.MULTILINE)
    least = next(each for each in PROJECT["dependencies"] if each.startswith("gymnasium")).removeprefix("gymnasium>=")
    assert f"badge/Gymnasium-v{least}.0-blue" in text
    sentences = text.rpartition("-blue)")[2].count(". ") + 1
    assert 2 <= sentences <= 5
