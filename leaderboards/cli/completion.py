"""What a shell may complete an argument to; folders and files it completes itself."""

from __future__ import annotations

from pathlib import Path

__all__ = ["complete_agent", "complete_anything", "complete_suite"]


def complete_suite(incomplete: str) -> list[str]:
    """Names of suites, and TOML files of the folder."""
    from leaderboards.cli.listing import suite_rows

    names = [*(str(row["id"]) for row in suite_rows()), *(path.name for path in sorted(Path().glob("*.toml")))]
    return _begun(names, incomplete)


def complete_agent(incomplete: str) -> list[str]:
    """Ids of agents."""
    from leaderboards.cli.listing import agent_rows

    return _begun([str(row["id"]) for row in agent_rows()], incomplete)


def complete_anything(incomplete: str) -> list[str]:
    """What `gpbandit show` describes: ids of environments and agents, names of suites."""
    from leaderboards.cli.listing import environment_rows

    envs = [str(row["id"]) for row in environment_rows()]
    return [*_begun(envs, incomplete), *complete_agent(incomplete), *complete_suite(incomplete)]


def _begun(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
