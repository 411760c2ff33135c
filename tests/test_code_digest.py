"""What is edited has another hash; what is run again has not."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Any

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
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("\n" * line + source, "<cell>", "exec"), scope)
    return scope[name]


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
    assert code_digest(C()) == code_digest(C)
    assert code_digest(C().go) == code_digest(C.go)


def test_another_process_agrees() -> None:
    """Sets of texts have another order in every process."""
    code = f"from gpbandit_envs.code_digest import code_digest\n{FUNCTIONS}\nprint(code_digest(f))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == code_digest(defined(FUNCTIONS, "f"))


def test_what_can_be_imported() -> None:
    assert is_importable(code_digest)
    assert is_importable(functools.partial)
    assert not is_importable(defined(FUNCTIONS, "f"))
    assert not is_importable(lambda x: x)
    assert not is_importable(functools.partial(code_digest, 1))

    class Local:
        pass

    assert not is_importable(Local)
