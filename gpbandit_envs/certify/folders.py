"""Where certificates of distances are: those of this package, and the user's own, beside the data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.certify.certificate import DistanceCertificate


def folders() -> tuple[Path, Path]:
    """The folder of this package, and that of the user, `certificates` in the cache of the data."""
    from gpbandit_envs.datasets.cache import root

    return Path(__file__).parent / "tables", root() / "certificates"


def find(table: str, kernel: dict[str, object]) -> DistanceCertificate | None:
    """The certificate of a table and a kernel, the user's own first; None if there is none.

    Args:
        table: `table_hash` of the arms and means.
        kernel: JSON form of the kernel.
    """
    for folder in reversed(folders()):
        for path in sorted(folder.glob("*.json")):
            text = path.read_text()
            if table not in text:
                continue
            found = DistanceCertificate.from_json(text)
            if found.table == table and found.kernel == kernel:
                return found
    return None


def save(certificate: DistanceCertificate, path: Path | None = None) -> Path:
    """Write a certificate, by default among the user's own, in the place of one of the same table and kernel.

    Raises:
        OSError: if the folder cannot be written.
    """
    kernel = hashlib.sha256(json.dumps(certificate.kernel, sort_keys=True).encode()).hexdigest()[:8]
    path = path or folders()[1] / f"{certificate.table[:16]}-{kernel}.json"
    with written_whole(path) as temporary:
        temporary.write_text(certificate.to_json())
    return path
