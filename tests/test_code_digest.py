"""What is edited has another hash; what is run again has not."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpbandit_envs.code_digest import code_digest, is_importable

FUNCTIONS = """
def f(x, scale=2.0):
    "Some words."
    return scale * x[0] if x[1] in {"a", "b", "c"} else (lambda y: y + 1)(x[0])
"""
CLASSES = """
class Base:
    limit = 3
    def go(self): return [n for n in range(self.limit)]

class C(Base):
    @property
    def p(self): return 1
    @staticmethod
    def s(): return 2
"""


def defined(source: str, name: str, line: int = 0) -> Any:
    """`name` as a notebook's cell defines it, `line` lines further down."""
    return defined_all("\n" * line + source)[name]


def defined_all(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize(
    ("source", "name", "old", "new"),
    [
        (FUNCTIONS, "f", "scale * x[0]", "scale / x[0]"),
        (FUNCTIONS, "f", "scale=2.0", "scale=3.0"),
        (FUNCTIONS, "f", "y + 1", "y + 2"),
        (FUNCTIONS, "f", '"c"', '"d"'),
        (CLASSES, "C", "limit = 3", "limit = 4"),
        (CLASSES, "C", "return 1", "return 3"),
        (CLASSES, "C", "return 2", "return 3"),
        (CLASSES, "C", "range(self.limit)", "range(1, self.limit)"),
    ],
)
def test_an_edit_changes_it(source: str, name: str, old: str, new: str) -> None:
    assert old in source
    first = code_digest(defined(source, name))
    assert code_digest(defined(source, name, line=7)) == first
    assert code_digest(defined(source.replace(old, new), name)) != first


def test_closures_partials_methods_and_objects() -> None:
    def made(n: int) -> Any:
        return lambda x: x + n

    assert code_digest(made(1)) == code_digest(made(1)) != code_digest(made(2))
    f = made(1)
    assert code_digest(functools.partial(f, 3)) == code_digest(functools.partial(f, 3))
    assert code_digest(functools.partial(f, 3)) != code_digest(functools.partial(f, 4))
    C = defined(CLASSES, "C")
    assert code_digest(C()) == code_digest(C()) != code_digest(C)
    assert code_digest(C().go) == code_digest(C().go) != code_digest(C().s)


VALUES = """
import enum, functools, pathlib, re, threading, types
import numpy as np, pandas as pd
class Kind(enum.Enum):
    ONE, OTHER = 1, 2
class Holder:
    __slots__ = ("held", "itself")
    def __init__(self, held):
        self.held, self.itself = held, self
    def go(self, x): return x
def helper(x): return held
def names(x): return helper(x)
def nested(x): return [held for _ in x]
def cached(held): return functools.lru_cache(lambda x: held)
def closing(held):
    def f(x): return held
    return f
class Around:
    def __init__(self, f, held):
        self.__wrapped__, self.held = f, held
class WithProperty:
    @property
    def p(self): return held
    @classmethod
    def c(cls): return 1
def named(value):
    global held
    held = value
"""
"""What holds a value, and how: all that a run of a function may go by."""

HOLDERS: dict[str, Callable[[Any, Any], Any]] = {
    "closure": lambda m, v: m["closing"](v),
    "cache": lambda m, v: m["cached"](v),
    "method": lambda m, v: m["Holder"](v).go,
    "object": lambda m, v: m["Holder"](v),
    "partial": lambda m, v: functools.partial(m["closing"](0), v),
    "global of a helper": lambda m, v: m["named"](v) or m["names"],
    "global in an inner function": lambda m, v: m["named"](v) or m["nested"],
    "property of a class": lambda m, v: m["named"](v) or m["WithProperty"],
    "attribute of a class": lambda _, v: type("Attribute", (), {"held": v, "__module__": "__main__"}),
}


def pairs(m: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Two that differ, of each kind of value."""
    return {
        "numbers": (1.0, 2.0),
        "arrays": (np.arange(99.0), np.arange(99.0) + (np.arange(99) == 50)),
        "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
        "arrays of objects": (np.array([1, "a"], object), np.array([1, "b"], object)),
        "frames": (pd.DataFrame({"a": ["x"] * 99}), pd.DataFrame({"a": ["x"] * 98 + ["y"]})),
        "dicts": ({"a": 1, "b": {2}}, {"a": 1, "b": {3}}),
        "nesting": ([[1], 2], [[1, 2]]),
        "enums": (m["Kind"].ONE, m["Kind"].OTHER),
        "objects": (m["Holder"]([1, m["threading"].Lock()]), m["Holder"]([2, m["threading"].Lock()])),
        "functions": (lambda x: x, lambda x: x + 1),
        "paths": (m["pathlib"].Path("a"), m["pathlib"].Path("b")),
        "generators": (np.random.default_rng(1), np.random.default_rng(2)),
        "modules": (np, pd),
        "masks": (np.ma.array([1, 2], mask=[False, True]), np.ma.array([1, 2], mask=[False, False])),
        "regular expressions": (m["re"].compile("a"), m["re"].compile("b")),
        "views": (memoryview(b"a"), memoryview(b"b")),
        "mappings that cannot be changed": (m["types"].MappingProxyType({1: 2}), m["types"].MappingProxyType({1: 3})),
        "objects around a function": (m["Around"](len, 1), m["Around"](len, 2)),
    }


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_held_enters(holder: str) -> None:
    module = defined_all(VALUES)
    for (kind, (one, other)), (again, _) in zip(pairs(module).items(), pairs(module).values(), strict=True):
        first = code_digest(HOLDERS[holder](module, one))
        assert code_digest(HOLDERS[holder](module, again)) == first, kind
        assert code_digest(HOLDERS[holder](module, other)) != first, kind


COUNTING = """
n, seen = 0, []
class Oven:
    tried = {}
    def __init__(self): self.n = 0
    def __call__(self, x):
        self.n += 1
        self.tried[x] = 2 * x
        return self.tried[x]
def counts(x, memo=[]):
    global n
    n += 1
    memo.append(x)
    seen.append(x)
    return 2 * x
def closing():
    m = 0
    def f(x):
        nonlocal m
        m += 1
        return 2 * x
    return f
oven, closed = Oven(), closing()
"""


@pytest.mark.parametrize("name", ["oven", "counts", "closed"])
def test_code_alone_is_the_same_whatever_it_counts(name: str) -> None:
    f = defined(COUNTING, name)
    before = code_digest(f), code_digest(f, state=False)
    f(1)
    after = code_digest(f), code_digest(f, state=False)
    assert before[0] != after[0]
    assert before[1] == after[1] != code_digest(defined(COUNTING.replace("2 * x", "3 * x"), name), state=False)


def test_another_process_agrees() -> None:
    """Sets of texts have another order in every process."""
    held = 'held = {"words": {"a", "b", ("c", 1)}, "frame": pd.DataFrame({"a": ["x", "y"]})}'
    source = FUNCTIONS + VALUES + held
    code = f"from gpbandit_envs.code_digest import code_digest\n{source}\nprint(code_digest((f, names)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    module = defined_all(source)
    assert ended.stdout.strip() == code_digest((module["f"], module["names"]))


def test_what_is_long_deep_or_holds_itself() -> None:
    def chain(end: Any, n: int = 5_000) -> list[Any]:
        return functools.reduce(lambda inside, _: [inside], range(n), [end])

    assert code_digest(chain(1)) == code_digest(chain(1)) != code_digest(chain(2))
    assert code_digest(chain(1)) != code_digest(chain(1, 4_999))
    held: dict[Any, Any] = {}
    held["itself"] = held
    assert code_digest(held) != code_digest({"itself": {}})


def test_what_can_be_imported() -> None:
    assert is_importable(code_digest)
    assert is_importable(functools.partial)
    assert not is_importable(defined(FUNCTIONS, "f"))
    assert not is_importable(lambda x: x)
    assert not is_importable(functools.partial(code_digest, 1))

    class Local:
        pass

    assert not is_importable(Local)
