"""Croissant 1.0 with its responsible-AI fields: metadata of data sets as JSON-LD, for boards and tables alike.

Specifications: MLCommons, Croissant format 1.0 and Croissant RAI 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpbandit_envs.version import __version__

__all__ = ["CREATOR", "column", "document", "file_object", "record_set"]

CREATOR = {"@type": "Organization", "name": "the gpbandit-envs authors"}

_CR, _RAI = "http://mlcommons.org/croissant/", "http://mlcommons.org/croissant/RAI/"
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": _CR,
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": _RAI,
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


def document(
    *,
    name: str,
    description: str,
    licence: str | Sequence[str],
    creator: Mapping[str, str] | Sequence[Mapping[str, str]],
    published: str,
    cite: str,
    distribution: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    responsible: Mapping[str, Any],
    keywords: Sequence[str] = (),
    url: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description of a data set; its version is that of this package.

    Args:
        name: Stable name, of letters, digits, `-`, `_` and `.`.
        description: A paragraph.
        licence: Address of the licence, or several.
        creator: Who made the data.
        published: Date as `YYYY-MM-DD`.
        cite: BibTeX.
        distribution: Files, see `file_object`.
        records: Tables in them, see `record_set`.
        responsible: Fields of the RAI vocabulary, without their prefix.
        keywords: Words to be found by.
        url: Public address of the page; None where there is none yet.
        extra: Further properties of `schema.org/Dataset`.
    """
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [f"{_CR}1.0", f"{_RAI}1.0"],
        "name": name,
        "description": description,
        "license": licence if isinstance(licence, str) or len(licence) != 1 else licence[0],
        "creator": creator,
        "datePublished": published,
        "version": __version__,
        **({"url": url} if url else {}),
        "keywords": list(keywords),
        "citeAs": cite,
        "isLiveDataset": False,
        **(extra or {}),
        **{f"rai:{key}": value for key, value in responsible.items()},
        "distribution": list(distribution),
        "recordSet": list(records),
    }


def file_object(name: str, description: str, encoding: str, sha256: str, size: int, where: str = "") -> dict[str, Any]:
    """A file beside the description, or below the address `where`."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": description,
        "contentUrl": f"{where.rstrip('/')}/{name}" if where else name,
        "encodingFormat": encoding,
        "contentSize": f"{size} B",
        "sha256": sha256,
    }


def record_set(name: str, description: str, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A table, whose fields `column` gives."""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "field": [{**field, "@id": f"{name}/{field['name']}"} for field in fields],
    }


def column(name: str, description: str, kind: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """A field that is the column `name` of `source`, as `{"fileObject": {"@id": "table.csv"}}`.

    Args:
        name: Name of the column.
        description: What it holds, with its unit.
        kind: `"Integer"`, `"Float"`, `"Text"` or `"Boolean"`.
        source: The file, or set of files.
    """
    return {
        "@type": "cr:Field",
        "name": name,
        "description": description,
        "dataType": f"sc:{kind}",
        "source": {**source, "extract": {"column": name}},
    }
