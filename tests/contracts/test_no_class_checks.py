"""No policy asks for the class of its parts: schedules, beliefs and rules of batches answer for themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import agents

ROOT = Path(agents.__file__).parent
PARTS = ("WidthSchedule", "Beliefs", "BatchRule")
HELD_AS = ("schedule", "_schedule", "beliefs", "batch_rule")  # attributes and arguments that hold one
# Says whether an argument is a schedule at all, not which.
ALLOWED = {("core/widths.py", "as_width", "WidthSchedule")}


def parts(trees: Iterable[ast.Module]) -> set[str]:
    """Names of the classes that derive from one of `PARTS`."""
    bases = {
        node.name: {name for base in node.bases for name in names(base)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(PARTS)
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def names(node: ast.AST) -> Iterator[str]:
    """Every name and attribute in an expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def checks(tree: ast.Module, known: set[str]) -> Iterator[tuple[str, str]]:
    """The function that asks for the class of a part, and the class or the word by which it asks."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            asked: list[str] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("isinstance", "issubclass"):
                    asked = [name for name in names(node.args[1]) if name in known]
                elif node.func.id in ("hasattr", "type"):
                    asked = [node.func.id for name in list(names(node.args[0]))[:1] if name in HELD_AS]
            elif isinstance(node, ast.Compare) and "type" in names(node.left):
                asked = [name for other in node.comparators for name in names(other) if name in known]
            elif isinstance(node, ast.MatchClass):
                asked = [name for name in names(node.cls) if name in known]
            for name in asked:
                yield function.name, name


def test_no_policy_asks_for_the_class_of_its_parts() -> None:
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
        if "experiment" not in path.parts
    }
    known = parts(trees.values())
    assert {"DualMixture", "SketchedBeliefs", "SumRule"} <= known
    found = [(path, *check) for path, tree in trees.items() for check in checks(tree, known)]
    assert [check for check in found if check not in ALLOWED] == []


def test_a_check_is_seen() -> None:
    text = """
class Flat(WidthSchedule): ...
class Steep(Flat): ...
def one(policy):
    return isinstance(policy.schedule, Steep | Flat)
def two(policy):
    return type(policy.schedule) in (Steep,) or hasattr(policy.beliefs, "posterior")
def three(schedule):
    match schedule:
        case Flat():
            return 1
"""
    tree = ast.parse(text)
    known = parts([tree])
    assert known == {*PARTS, "Flat", "Steep"}
    assert sorted(checks(tree, known)) == [
        ("one", "Flat"),
        ("one", "Steep"),
        ("three", "Flat"),
        ("two", "Steep"),
        ("two", "hasattr"),
        ("two", "type"),
    ]


# ---- what an import loads ----


LOADED = """
import sys
import agents
print(*(name for name in sys.modules if name.startswith("agents.")))
print(agents.Experiment.__module__)
"""


def test_policies_load_no_laboratory_until_it_is_asked_for() -> None:
    ended = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded, module = ended.stdout.splitlines()
    assert "agents.core.protocol" in loaded.split()
    assert "agents.experiment" not in loaded
    assert module == "agents.experiment.experiment"
