"""The code of the project's own policies, one page a module: from disk, a page links to nothing elsewhere."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from leaderboards.show.agent_card import AgentCard
from leaderboards.show.shared import Site

__all__ = ["code_link", "code_page"]


def code_page(site: Site, module: str) -> dict[str, Any]:
    """Context of `code.html.j2`."""
    agents = [(name, file) for name, file in site.agent_files.items() if _module(site.cards.get(name)) == module]
    return {"module": module, "lines": inspect.getsource(sys.modules[module]).splitlines(), "agents": agents}


def code_link(site: Site, card: AgentCard) -> str | None:
    """Address of the class of an agent, from the folder of the pages; None if it is not of this project."""
    file = site.code_files.get(card.module)
    if file is None:
        return None
    found: Any = sys.modules[card.module]
    for part in card.name.split("."):
        found = getattr(found, part, None)
    try:
        lines, line = inspect.getsourcelines(found)
        line += next((i for i, text in enumerate(lines) if text.lstrip().startswith("class ")), 0)  # past decorators
    except (TypeError, OSError):
        line = 1
    return f"code/{file}#L{line}"


def _module(card: AgentCard | None) -> str:
    return "" if card is None else card.module
