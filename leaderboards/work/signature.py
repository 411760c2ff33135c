"""Signatures of checkpoints: a pickle of a stranger, which could run anything, is never loaded.

A signature is an HMAC with a key of 32 random bytes that lies in the user's own state folder and never leaves it. A
results folder from elsewhere may hold checkpoints too; without this key nobody can sign them.
"""

from __future__ import annotations

import functools
import hmac
import os
import secrets
from pathlib import Path

import platformdirs

__all__ = ["key_file", "sign", "unsign"]

_SIZE = 32


def key_file() -> Path:
    """Where the key of this user is."""
    return platformdirs.user_state_path("gpbandit-envs") / "checkpoints.key"


def sign(content: bytes) -> bytes:
    """`content` behind its signature.

    Raises:
        OSError: if the key can neither be read nor made, or is none.
    """
    return hmac.digest(_key(key_file()), content, "sha256") + content


def unsign(signed: bytes) -> bytes:
    """What `sign` was given.

    Raises:
        ValueError: if the signature is not this user's, or the content has changed.
        OSError: if the key can neither be read nor made, or is none.
    """
    content = signed[_SIZE:]
    if not hmac.compare_digest(signed, sign(content)):
        raise ValueError("this user has not written it, or it has changed since")
    return content


@functools.cache
def _key(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process may make it at the same time: a link puts one whole key there, and all read that one.
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    if not path.exists():
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_SIZE))
            os.link(new, path)
        except FileExistsError:
            pass
        finally:
            new.unlink(missing_ok=True)
    key = path.read_bytes()
    if len(key) != _SIZE:  # with an empty key anyone could sign
        raise OSError(f"{path}: expected a key of {_SIZE} bytes, got {len(key)}; delete it, and another is made")
    return key
