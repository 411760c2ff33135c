"""Which files an agent is made of, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboards.verify.fingerprint import imported_files


@pytest.mark.parametrize(
    "other",
    [
        b"print 'of Python 2'\n",
        b"# -*- coding: latin-1 -*-\n# Schr\xf6dinger\nimport helper\n",
        b"# Schr\xf6dinger\n",
        b"# -*- coding: none -*-\n",
        b"x = 1\0\n",
        b"\xef\xbb\xbfimport helper\n",
        b"x = " + b"-" * 100_000 + b"1\n",
    ],
    ids=["python-2", "latin-1", "no-utf-8", "no-coding", "nul", "mark", "deep"],
)
@pytest.mark.parametrize("package", [False, True])
def test_a_file_beside_an_agent_may_be_no_source(other: bytes, package: bool, tmp_path: Path) -> None:
    agent, helper = tmp_path / "agent.py", tmp_path / "helper.py"
    agent.write_text("from other import x\n")
    helper.write_text("")
    beside = tmp_path / "other" / "__init__.py" if package else tmp_path / "other.py"
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(other)
    assert imported_files(agent, tmp_path) == sorted([agent, beside, *[helper] * (b"import" in other)])
