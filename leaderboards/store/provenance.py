"""Where the runs of a results folder come from, and which have been verified.

A folder that somebody published has a manifest: its suite, and the files of its runs with their hashes and sources. Of
any other the names of files say what was added from elsewhere, and nothing there counts as verified.

Whoever publishes writes new files under new names, then a manifest
that names them: whenever that is stopped, the folder is what it was or what it is to be. Only files that the manifest
names count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_serializer, model_validator

from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import StoreError, read_limited, write_whole
from leaderboards.store.run_file import first_error

MANIFEST = "manifest.json"
_SCHEMA = 1

TrustLevel = Literal["local", "submitted", "verified"]
"""How far a record is to be trusted."""


class Strict(BaseModel):
    """A record that others publish or submit: its keys are known ones, and it does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Report(Strict):
    """What was found when a submitted agent was added to a board; nothing is verified without one.

    Attributes:
        when: When that was, in seconds since 1970.
        sandbox: What confined the agent.
        figures: Its author's runs by the verdict on them; the board has those that were played here.
        seed: Root seed of the hold-out, which was drawn then.
        holdout: What the hold-out found of it and of rows of the board.
        screen: What the screen of first choices found.
        copies: Rows of the board that do the same, in words.
    """

    model_config = ConfigDict(extra="ignore")

    when: float
    sandbox: str
    figures: dict[str, int]
    seed: str
    holdout: tuple[str, ...]
    screen: tuple[str, ...]
    copies: tuple[str, ...] = ()


class Source(Strict):
    """Where the runs of an agent come from, and who has played them again.

    Attributes:
        standing: `"verified"`: played, or played again with equal traces, by those who publish; `"submitted"`: by its
            author alone.
        by: Who played or verified them.
        version: Version of the package with which that was done.
        fingerprint: Of the agent's code, see `leaderboards.verify.fingerprint`; None for agents of other packages.
        code: Where the code of an agent of another package is; "" for those of this project.
        report: Of an agent that was added: what it stands on. Without one it counts as submitted, whatever is said.
    """

    model_config = ConfigDict(extra="ignore")  # older manifests say whether policy times are comparable

    standing: Literal["submitted", "verified"]
    by: str
    version: str
    fingerprint: str | None = None
    code: str = ""
    report: Report | None = None

    @model_validator(mode="before")
    @classmethod
    def _stands_on_a_report(cls, values: Any) -> Any:
        asserted = isinstance(values, dict) and values.get("code") and not values.get("report")
        return {**values, "standing": "submitted"} if asserted else values

    @model_serializer(mode="wrap")
    def _without_nothing(self, plain: Any) -> Any:
        """Rows of this project's have no report, and their manifests stay as they are."""
        return {name: value for name, value in plain(self).items() if name != "report" or value is not None}


class PublishedFile(Strict):
    """A file of the manifest.

    Attributes:
        agent: Label of its agent.
        sha256: Of its content.
        bytes: Its size.
        runs: How many runs it holds.
        source: Where they come from.
    """

    agent: str
    sha256: str
    bytes: int
    runs: int
    source: Source


class Manifest(Strict):
    """A manifest.

    Attributes:
        suite: The suite, with every default written out.
        files: The files below `runs/` by name.
    """

    suite: Suite
    files: dict[str, PublishedFile]


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a results folder, None if nobody published it; `StoreError` if it is damaged or too new."""
    try:
        values = json.loads(read_limited(folder / MANIFEST))
        version = values.pop("schema")
        if version > _SCHEMA:
            raise StoreError(
                f"{folder / MANIFEST}: a manifest of schema {version}, which only a newer version can read"
            )
        found = Manifest.model_validate({**values, "suite": parse_suite(values["suite"])})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValidationError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{folder / MANIFEST}: a damaged manifest ({first_error(error)})") from None
    except ValueError as error:
        raise StoreError(f"{folder / MANIFEST}: {error}") from None
    if strange := [name for name in found.files if Path(name).name != name or name in ("", ".", "..")]:
        raise StoreError(f"{folder / MANIFEST}: expected plain names of files, got {strange[0]!r}")
    return found


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    suite = manifest.suite.frozen().model_dump(mode="json")
    files = {name: manifest.files[name].model_dump(mode="json") for name in sorted(manifest.files)}
    text = json.dumps({"schema": _SCHEMA, "suite": suite, "files": files}, indent=1) + "\n"
    write_whole(folder / MANIFEST, text)
