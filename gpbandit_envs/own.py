"""Environments of one's own in one line: from a table of measurements, or from a function.

Both register an id `Own/<name>-v0`, which `gymnasium.make`, suites and pages take as they take any other. A table in a
CSV file is `GPBandit/Table-v0` with the file's path and hash under another name, so that every process can build it. A
frame or a function is known to this process and to the workers that it starts.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from gpbandit_envs.arguments import MANY, as_count, as_number, as_truth, positive_int, positive_number, shown
from gpbandit_envs.certify import certify as make_certificate
from gpbandit_envs.certify import find, save, table_hash
from gpbandit_envs.certify.certificate import NORMS
from gpbandit_envs.code_digest import code_digest, is_importable
from gpbandit_envs.csv_file import one_header
from gpbandit_envs.datasets.measured import as_columns, content_digest, file_content, frame_digest
from gpbandit_envs.domain import Domain
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.own_function import Bounds, OwnFunction, as_domain, function_recipe, grid_sizes, values_digest
from gpbandit_envs.envs.own_table import Replicates, frame_recipe
from gpbandit_envs.envs.recipe import KernelLike, NoiseLike, fixed_table
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.registry import OWN, TABLE

if TYPE_CHECKING:
    import pandas as pd
    from gymnasium.envs.registration import EnvSpec

_HORIZON = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_TABLE_ENTRY = f"gpbandit_envs.envs.{TABLE.entry_point}"


def from_table(
    table: str | PathLike[str] | pd.DataFrame,
    target: str,
    *,
    minimise: bool = False,
    replicates: Replicates = "resample",
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    noise_std: float | None = None,
    kernel: KernelLike = None,
    certify: bool | Sequence[float] = False,
    name: str | None = None,
    horizon: int = _HORIZON,
) -> gym.Env[Any, Any]:
    """An environment from a table of measurements, and the id `Own/<name>-v0`.

    A row is one measurement: the settings of a candidate and the target. Candidates are the arms; the largest mean is
    the optimum, exactly. See `gpbandit_envs.envs.own_table.table` for scaling and noise.

    Args:
        table: Path of a CSV file with a line of column names, or a frame.
        target: Column that was measured, by its name; a number or a date stands for its text.
        minimise: Whether small values of the target are good.
        replicates: What rows with the same settings are: `"resample"` makes the feedback one of these measurements,
            so that a candidate that was measured once answers without noise, of which a mixture of both warns;
            `"average"` their mean with Gaussian noise, the same for all; `"refuse"` takes them for a mistake.
        categorical: Columns of numbers that are names. Columns of text are names by themselves.
        ignore: Columns to leave out.
        noise_std: Standard deviation of Gaussian noise, unit of the target; if None, the pooled one of the replicates,
            or 1 % of the target's range if there are none that differ. Only where the feedback is not resampled.
        kernel: Prior stated to policies; if None, Matern-5/2 with half the diagonal of the features' cube as
            lengthscale.
        certify: Whether policies are told how near the means are to functions of bounded norm under the kernel, or the
            norms for which they are. The distances are computed once and kept with the data, which takes seconds up to
            5,000 candidates and minutes beyond; see `gpbandit_envs.certify`.
        name: Letters, digits, `-`, `_` and `.`; by default that of the file, or `table`.
        horizon: Number of evaluations `T` after which an episode ends.

    Returns:
        The environment, as `gymnasium.make` makes it from the id. The id of an earlier call with that name is replaced.

    Raises:
        FileNotFoundError: if there is no such file.
        TypeError: if `table` is neither path nor frame, a column neither numbers nor text, or `certify` neither a
            truth value nor norms.
        ValueError: naming the column and the rows that are wrong, or the argument.
    """
    norms = _norms(certify)
    (target,) = as_columns("target", [target])
    categorical, ignore = as_columns("categorical", categorical), as_columns("ignore", ignore)
    if noise_std is not None:
        noise_std = as_number("noise_std", noise_std, "a finite number >= 0", lambda std: std >= 0)
    settings: dict[str, Any] = {"target": target, "minimise": as_truth("minimise", minimise), "replicates": replicates}
    optional = {"categorical": categorical, "ignore": ignore, "noise_std": noise_std, "kernel": kernel}
    settings |= {key: _as_json(value) for key, value in optional.items() if value is not None and value != ()}
    if isinstance(table, str | PathLike):
        path = Path(table).resolve()
        settings = {"file": str(path), "sha256": content_digest(file_content(path)), **settings}
        return _with_certificate(_checked_name(name, path.stem), _TABLE_ENTRY, settings, horizon, norms)
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table: expected the path of a CSV file or a pandas.DataFrame, got {type(table).__name__}")
    one_header("table", table)
    settings["sha256"] = frame_digest(table)
    entry_point = EntryPoint(functools.partial(frame_recipe, table.copy()))
    return _with_certificate(_checked_name(name, "table"), entry_point, settings, horizon, norms)


def _with_certificate(
    name: str, entry_point: Any, settings: dict[str, Any], horizon: int, norms: tuple[float, ...]
) -> gym.Env[Any, Any]:
    """The environment of a table, with its certificate made where none is kept, if there are norms to certify."""
    env = _register(name, entry_point, settings, horizon)
    if not norms:
        return env
    recipe = env.unwrapped.recipe  # type: ignore[attr-defined]
    table = fixed_table(recipe)
    assert table is not None
    kept = find(table_hash(*table), dict(recipe.kernel.to_spec()))
    if kept is None or not set(norms) <= {point.norm for point in kept.curve}:
        save(make_certificate(recipe.kernel, *table, norms=norms))
    return _register(name, entry_point, {**settings, "certified": True}, horizon)


def from_function(
    f: Callable[[Any], Any],
    bounds: Bounds,
    *,
    minimise: bool = False,
    noise_std: float = 0.0,
    optimum: float | None = None,
    grid: int | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    failed_as: float | None = None,
    name: str | None = None,
    horizon: int = _HORIZON,
) -> gym.Env[Any, Any]:
    """An environment from a function on a box, and the id `Own/<name>-v0`.

    Policies see the unit cube; `f` gets the values in their own units. It is called twice at the middle of the box, to
    see that it works and gives the same value again: noise is added by the environment. Then it is called at eight
    points, or at up to 256 arms of a grid: what it returns there tells the runs of one function from those of another.

    Args:
        f: Takes an array of `d` values and returns a number, always the same for the same values.
        bounds: For each coordinate a pair (low, high), `range(low, high + 1)` for integers or `agents.log(low, high)`
            for a logarithmic scale; such by name; or a `gpbandit_envs.domain.Domain`, which may have choices besides.
        minimise: Whether small values are good; the reward is then minus the value.
        noise_std: Standard deviation of the noise, unit of `f`.
        optimum: The best value of `f` on the box, from which regret is measured; None leaves it unknown, and pages
            measure regret from the best mean that any run has found.
        grid: Points per axis of the regular grid that serves as arm set, whose optimum is then exact; of an integer
            at most all levels, of choices each once. None for the whole box.
        kernel: Prior stated to policies, on the unit cube; none if None.
        noise: Noise model, a name or a spec; Gaussian if None.
        failed_as: Value that counts for the regret where `f` returns NaN: that evaluation has failed, its feedback is
            none and `info["failed"]` is True. None if `f` always returns a number.
        name: Letters, digits, `-`, `_` and `.`; by default that of the function, or `function`.
        horizon: Number of evaluations `T` after which an episode ends.

    Returns:
        The environment, as `gymnasium.make` makes it from the id. The id of an earlier call with that name is replaced.

    Raises:
        TypeError: if `f` does not take one array, returns no number, or the bounds are no pairs.
        ValueError: if `f` returns NaN without `failed_as`, another value at the same point or a better one than the
            stated optimum, or the bounds are not in order, or the grid has too many points.
    """
    if not callable(f):
        raise TypeError(f"f: expected a function of one array, got {f!r}")
    domain = as_domain(bounds)
    minimise = as_truth("minimise", minimise)
    grid = None if grid is None else as_count("grid", grid)
    if grid is not None and math.prod(grid_sizes(domain, grid)) > MANY:
        most = next((n for n in range(grid, 0, -1) if math.prod(grid_sizes(domain, n)) <= MANY), 0)
        expected = f"at most {most} points per axis" if most else "None, as choices alone make too many arms"
        raise ValueError(
            f"grid: expected {expected} in {len(domain)} dimensions, of {MANY:,} arms at most, got {grid}; without a "
            "grid, arms are the whole box"
        )
    if failed_as is not None:
        failed_as = as_number("failed_as", failed_as, "a finite number or None")
    function = OwnFunction(f, domain, minimise, failed_as=failed_as)
    value = _tried(function)
    stated = None if optimum is None else _stated(optimum, value, minimise)
    code = code_digest(f)
    values = values_digest(function, grid, strict=True)
    defined = {
        "bounds": domain.to_spec(),
        "minimise": minimise,
        "optimum": stated,
        # A function that can be imported is known by its name, as agents are. What calls change, such as a count of
        # them, is no part of a function.
        "code": None if is_importable(f) else code if code == code_digest(f) else code_digest(f, state=False),
        "values": values,
    }
    noise_std = as_number("noise_std", noise_std, "a finite number >= 0", lambda std: std >= 0)
    settings: dict[str, Any] = {"definition": defined, "noise_std": noise_std}
    optional = {"grid": grid, "kernel": kernel, "noise": noise, "failed_as": failed_as}
    settings |= {key: _as_json(value) for key, value in optional.items() if value is not None}
    entry_point = EntryPoint(functools.partial(function_recipe, f, defined))
    default = getattr(f, "__name__", "function").replace("<lambda>", "function")
    return _register(_checked_name(name, default), entry_point, settings, horizon)


class Pinned(NamedTuple):
    """An environment as records state it: enough to build the same one again, or to see that it has changed."""

    id: str
    kwargs: dict[str, Any]
    name: str


def pinned(id: str, kwargs: Mapping[str, Any]) -> Pinned | None:
    """What a suite or a record should state for an environment of one's own; None for any other environment.

    A table in a file becomes `GPBandit/Table-v0` with the hash of the file, whichever id it was given by.

    Args:
        id: An id as `gymnasium.make` takes it; a module in front of it has been imported.
        kwargs: Its keywords.

    Raises:
        FileNotFoundError: if the file is gone.
        ValueError: if an object that is the function has changed since.
    """
    plain = id.rpartition(":")[2]
    spec = gym.registry.get(plain)
    settings = dict(kwargs)
    if plain != TABLE.id:
        if spec is None or spec.namespace != OWN:
            return None
        settings = {**spec.kwargs, **settings}
        if spec.entry_point != _TABLE_ENTRY:
            _check_unchanged(id, spec)
            return Pinned(id, settings, str(spec.name))
    file = settings.get("file")
    if file is not None:
        settings.setdefault("sha256", content_digest(file_content(file)))
    name = str(spec.name) if plain != TABLE.id and spec is not None else Path(file or TABLE.name).stem
    return Pinned(TABLE.id, settings, name)


def _check_unchanged(id: str, spec: EnvSpec) -> None:
    """Raise where the function of an environment, or an object that it reads, returns other values than it did."""
    definition = spec.kwargs.get("definition", {})
    if "values" not in definition:
        return
    function, defined = spec.entry_point.given  # type: ignore[union-attr]
    domain = Domain.from_spec(defined["bounds"])
    own = OwnFunction(function, domain, defined["minimise"], failed_as=spec.kwargs.get("failed_as"))
    now = values_digest(own, spec.kwargs.get("grid"))
    if now != definition["values"]:
        raise ValueError(
            f"{id}: its function returns other values than when from_function took it, as an object that it reads has "
            "changed; call from_function again"
        )


def _register(name: str, entry_point: Any, settings: dict[str, Any], horizon: int) -> gym.Env[Any, Any]:
    id, limit = f"{OWN}/{name}-v0", positive_int("horizon", horizon)
    before = gym.registry.pop(id, None)
    gym.register(id, entry_point=entry_point, max_episode_steps=limit, kwargs=settings)
    try:
        return gym.make(id)
    except BaseException as error:
        del gym.registry[id]
        if before is not None:
            gym.registry[id] = before
        if isinstance(error, TypeError):  # what Gymnasium adds is of this module alone
            raise TypeError(str(error).partition(" was raised from the environment creator")[0]) from error
        raise


def _norms(certify: object) -> tuple[float, ...]:
    """The norms that `certify` asks for; none if it is False."""
    if isinstance(certify, (bool, np.bool_)):
        return NORMS if certify else ()
    if isinstance(certify, str) or not isinstance(certify, Iterable):
        raise TypeError(f"certify: expected True, False or norms such as [1.0, 2.0], got {shown(certify)}")
    return tuple(positive_number("certify", norm) for norm in certify)


def _checked_name(name: str | None, default: str) -> str:
    if name is None:
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", default).strip("-._") or "own"
    if not (isinstance(name, str) and _NAME.match(name)):
        raise ValueError(f"name: expected letters, digits, '-', '_' and '.', got {name!r}")
    return name


def _as_json(value: Any) -> Any:
    if isinstance(value, Kernel):
        return value.to_spec()
    return list(value) if isinstance(value, tuple) else value


def _tried(function: OwnFunction) -> float:
    """The value at the middle of the box, or an error that says what is wrong with the function."""
    middle = function.domain.values(np.full((1, function.dim), 0.5))[0]
    try:
        value, again = function.value(middle), function.value(middle)
    except (TypeError, ValueError) as error:
        if str(error).startswith("f: expected"):
            raise
        raise TypeError(_unusable(function.dim, middle, error)) from error
    except Exception as error:
        raise TypeError(_unusable(function.dim, middle, error)) from error
    if value != again:
        raise ValueError(
            f"f: expected the same value at the same point, got {value} and {again} at {middle.tolist()}; give the "
            "function without noise, and the noise as noise_std="
        )
    return value


def _unusable(dim: int, middle: np.ndarray, error: Exception) -> str:
    said = " ".join(str(error).split())
    return (
        f"f: expected a function of one array of {dim} value{'s' if dim > 1 else ''}, such as lambda x: -x[0] ** 2; "
        f"f({middle.tolist()}) raised {type(error).__name__}: {said}"
    )


def _stated(optimum: object, value: float, minimise: bool) -> float:
    best = as_number("optimum", optimum, "a finite number or None")
    if (value < best) if minimise else (value > best):
        hint = "" if minimise else "; give minimise=True if small values are good"
        raise ValueError(f"optimum: expected the best value of f, got {best}, and f is {value} at the middle{hint}")
    return best
