"""`gpbandit certify`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer

from gpbandit_envs.certify import DistanceCertificate, find, save, table_hash
from gpbandit_envs.certify import certify as make_certificate
from gpbandit_envs.certify.certificate import NORMS
from gpbandit_envs.envs.recipe import fixed_table
from leaderboards.cli.errors import UserError
from leaderboards.cli.terminal import say


def certify(
    env: Annotated[str, typer.Argument(help="Id of an environment over a table, such as OERPlates.")],
    norm: Annotated[list[float] | None, typer.Option(help="Norm of the ball; give it several times.")] = None,
    argument: Annotated[
        list[str] | None, typer.Option(help="Keyword of the environment as NAME=JSON, such as plate=3851.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Where the certificate is written, or read with --check.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Prove the kept certificate again, without the solver.")
    ] = False,
) -> None:
    """Bound the distance of a table from the functions of bounded norm under its kernel, and keep the proof.

    An environment made with certified=True then states the distances, and bands that allow for them are proven there.
    """
    if check and norm is not None:
        raise UserError(f"--norm: expected none beside --check, which proves what is kept, got {norm!r}")
    kwargs = dict(_argument(text) for text in argument or [])
    id = env if "/" in env else f"GPBandit/{env}-v0"
    try:
        recipe = gym.make(id, **kwargs).unwrapped.recipe  # type: ignore[attr-defined]
    except Exception as error:  # data that are not here, an unknown id, a wrong keyword
        raise UserError(str(error)) from None
    table = fixed_table(recipe)
    if table is None or recipe.kernel is None:
        raise UserError(f"{id}: expected a table of arms whose means are fixed, and a stated kernel")
    began = time.perf_counter()
    try:
        if check:
            found = _kept(recipe, table, file, id)
            found.check(*table)
        else:
            facts = {"id": id, "kwargs": kwargs}
            found = make_certificate(recipe.kernel, *table, norms=norm or NORMS, made_from=facts)
            say(f"written to {save(found, file)}")
    except (ValueError, OSError) as error:
        raise UserError(f"{id}: {error}") from None
    done = "proven again" if check else "computed"
    say(f"{id}: {found.n_arms:,} arms, prior mean {found.prior_mean:g}, {done} in {time.perf_counter() - began:.1f} s")
    for point in found.curve:
        say(f"  norm {point.norm:g}: {point.lower:.4f} to {point.upper:.4f}, by {len(point.arms)} arms")


def _kept(recipe: Any, table: Any, file: Path | None, id: str) -> DistanceCertificate:
    if file is not None:
        return DistanceCertificate.from_json(file.read_text())
    found = find(table_hash(*table), dict(recipe.kernel.to_spec()))
    if found is None:
        raise UserError(f"{id}: no certificate of this table and kernel is kept; gpbandit certify {id} makes it")
    return found


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"--argument: expected NAME=JSON, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
