"""Tasks as the benchmark problems of other libraries: means, feedback, domain and optimum are the environment's."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs
from gpbandit_envs.adapters import to_botorch, to_ioh, to_optunahub
from gpbandit_envs.adapters.instance import Instance
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.wrappers import DelayedFeedback

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "adapters"
ARMS: dict[str, Any] = {"n_arms": 40, "lengthscale": 0.2}
RKHS, BRANIN = "GPBandit/RKHS-v0", "GPBandit/Branin-v0"

# What the libraries warn of themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


def env_of(id: str, **kwargs: Any) -> Any:
    env = gym.make(id, **kwargs)
    env.reset(seed=4)
    return env.unwrapped


DOMAIN = Domain(
    (
        Dimension(1e-3, 1.0, log=True, name="rate"),
        Dimension(1, 4, integer=True, name="depth"),
        Dimension(choices=("a", "b", "c"), name="base"),
    )
)


@pytest.fixture
def mixed() -> Any:
    """A box with a logarithm, an integer and choices, noise-free, whose optimum nobody has stated."""
    return gpbandit_envs.from_function(lambda x: 10 * x[2] + x[1] + np.log10(x[0]), DOMAIN, name="mixed")


def test_means_and_feedback_are_the_environments() -> None:
    there, here = env_of(BRANIN), Instance(BRANIN, 4, {})
    units = np.random.default_rng(0).random((5, 2))
    points = [-5, 0] + units * [15, 15]
    np.testing.assert_allclose(here.mean(points), there.mean(units), rtol=1e-12)
    got = [here.feedback(point) for point in points]
    np.testing.assert_allclose(got, [there.step(unit)[1] for unit in units], rtol=1e-12)


def test_the_best_point_attains_the_optimum() -> None:
    for id, kwargs in ((BRANIN, {}), (RKHS, ARMS), ("GPBandit/Hartmann6-v0", {"shift": True})):
        instance = Instance(id, 4, kwargs)
        assert instance.best is not None
        assert instance.mean(instance.best[None])[0] == pytest.approx(instance.optimum, abs=1e-9)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([[16.0, 3.0]], r"x0: expected a number in \[-5, 10\], got 16.0"),
        ([[np.nan, 3.0]], r"x0: expected a number in \[-5, 10\], got nan"),
        ([[1.0]], r"points: expected shape \(n, 2\), got \(1, 1\)"),
    ],
)
def test_a_point_outside_the_box_is_refused(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Instance(BRANIN, 0, {}).mean(point)


@pytest.mark.parametrize("x", [[1.5, 0.5], [0.5, -1e-9], [np.nan, 0.5], [np.inf, 0.5]])
def test_a_point_outside_the_unit_cube_is_refused(x: list[float]) -> None:
    with pytest.raises(ValueError, match=r"action: expected coordinates in \[0, 1\], got"):
        Instance(BRANIN, 0, {}).at(x)


def test_a_value_that_is_none_of_its_dimension_is_named(mixed: Any) -> None:
    instance, point = Instance(mixed, 0, {}), {"rate": 0.1, "depth": 2, "base": "b"}
    assert instance.point(point).tolist() == [0.1, 2, 1]
    with pytest.raises(ValueError, match="base: expected 'a', 'b' or 'c', got 'd'"):
        instance.point(point | {"base": "d"})
    with pytest.raises(TypeError, match="rate: expected a number, got"):
        instance.point(point | {"rate": "0.1"})
    with pytest.raises(ValueError, match=r"depth: expected an integer in \[1, 4\], got 9.0"):
        instance.mean(instance.point(point | {"depth": 9})[None])


def test_an_arm_is_a_whole_number() -> None:
    with pytest.raises(ValueError, match=r"arm: expected an integer in \[0, 39\], got 1.5"):
        Instance(RKHS, 0, ARMS).mean([[1.5]])


@pytest.mark.parametrize(
    ("env", "kwargs", "message"),
    [
        ("GPBandit/RKHSContext-v0", {}, "got GPBandit/RKHSContext-v0 with contexts"),
        ("GPBandit/TVGPSample-v0", {}, "got GPBandit/TVGPSample-v0 with a mean that changes"),
        (lambda: DelayedFeedback(gym.make(RKHS, **ARMS), delay=2), {}, "got DelayedFeedback around it"),
        (lambda: gym.make(RKHS, n_arms=1), {}, "expected at least two arms, got 1"),
    ],
)
def test_what_other_libraries_have_no_form_for_is_refused(env: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Instance(env() if isinstance(env, Callable) else env, 0, kwargs)  # type: ignore[arg-type]


def test_other_environments_are_refused() -> None:
    with pytest.raises(TypeError, match="env: expected an environment of this package, or its id, got"):
        Instance(gym.make("CartPole-v1"), 0, {})
    with pytest.raises(TypeError, match="n_arms: expected no keywords beside an environment"):
        Instance(gym.make(BRANIN), 0, {"n_arms": 3})


@pytest.mark.parametrize("convert", [to_botorch, to_ioh, to_optunahub])
def test_a_missing_library_names_its_extra(convert: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    library = convert.__name__.removeprefix("to_")
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"gpbandit_envs.adapters.{library}_problem", raising=False)
    with pytest.raises(ImportError, match=rf'to_{library} needs \w+: pip install "gpbandit-envs\[{library}\]"'):
        convert(BRANIN)


@needs("botorch")
def test_botorch_on_arms() -> None:
    import torch

    there, problem = env_of(RKHS, **ARMS), to_botorch(RKHS, seed=4, **ARMS)
    order = torch.tensor([7, 3, 3, 39])
    X = problem.choices[order]
    np.testing.assert_array_equal(problem.evaluate_true(X), there.mean(order.numpy()))
    np.testing.assert_array_equal(problem(X), [there.step(int(arm))[1] for arm in order])
    np.testing.assert_allclose(problem(X.float(), noise=False), there.mean(order.numpy()), rtol=1e-6)
    assert not problem.is_minimization_problem
    assert problem.optimal_value == there.optimum == problem.evaluate_true(problem.optimizers).item()
    with pytest.raises(ValueError, match="X: expected rows of `choices`, the arms, got"):
        problem(torch.tensor([[0.512345]]))


@needs("botorch")
def test_botorch_on_a_box() -> None:
    import torch

    there, problem = env_of(BRANIN), to_botorch(BRANIN, seed=4, negate=True)
    assert problem.bounds.tolist() == [[-5, 0], [10, 15]]
    X = torch.rand(3, 2, 2, dtype=torch.double) * 15 + torch.tensor([-5.0, 0.0])
    units = ((X - torch.tensor([-5.0, 0.0])) / 15).reshape(-1, 2).numpy()
    np.testing.assert_allclose(problem(X, noise=False).reshape(-1), -there.mean(units), rtol=1e-9)
    assert problem(X).shape == (3, 2)
    assert problem.is_minimization_problem
    assert problem.optimal_value == -there.optimum
    with pytest.raises(ValueError, match=r"X: expected shape \(\.\.\., 2\), got \(2, 3\)"):
        problem(torch.zeros(2, 3))


@needs("botorch")
def test_botorch_needs_features_that_tell_arms_apart() -> None:
    import pandas as pd

    # Two candidates that differ by less than the rounding of single precision.
    frame = pd.DataFrame({"a": [0.0, 1e-12, 1.0], "y": [1.0, 2.0, 3.0]})
    env = gpbandit_envs.from_table(frame, "y", name="apart", noise_std=0.1)
    with pytest.raises(ValueError, match="got arms 0 and 1 of Own/apart-v0 with equal features and the means"):
        to_botorch(env)


@needs("botorch")
def test_botorch_knows_integers_and_choices(mixed: Any) -> None:
    import torch

    problem = to_botorch(mixed)
    assert (problem.continuous_inds, problem.discrete_inds, problem.categorical_inds) == ([0], [1], [2])
    assert problem.bounds.tolist() == [[1e-3, 1, 0], [1, 4, 2]]
    assert problem(torch.tensor([0.01, 3.0, 2.0], dtype=torch.double)).item() == pytest.approx(21.0)
    with pytest.raises(NotImplementedError, match="does not specify an optimal value"):
        _ = problem.optimal_value


@needs("optunahub")
def test_optunahub_knows_integers_and_choices(mixed: Any) -> None:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    problem = to_optunahub(mixed)
    assert problem.search_space == {
        "rate": FloatDistribution(1e-3, 1.0, log=True),
        "depth": IntDistribution(1, 4),
        "base": CategoricalDistribution(["a", "b", "c"]),
    }
    assert problem.evaluate({"base": "c", "depth": 3, "rate": 0.01}) == pytest.approx(21.0)


@needs("optunahub")
@pytest.mark.parametrize(("id", "kwargs"), [(BRANIN, {}), (RKHS, ARMS)])
def test_optunahub(id: str, kwargs: Any) -> None:
    import optuna

    there, problem = env_of(id, **kwargs), to_optunahub(id, seed=4, **kwargs)
    study = optuna.create_study(directions=problem.directions, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem, n_trials=6)
    for trial in study.trials:
        point = list(trial.params.values())
        action = point[0] if kwargs else (np.array(point) - [-5, 0]) / 15
        assert trial.value == pytest.approx(there.step(action)[1], rel=1e-9)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    with pytest.raises(ValueError, match=r"params: expected .*, got y"):
        problem.evaluate({"y": 0.0})


@needs("ioh")
def test_ioh() -> None:
    there, problem = env_of(RKHS, **ARMS), to_ioh(RKHS, seed=4, **ARMS)
    assert [problem([arm]) for arm in (5, 5, 11)] == [there.step(arm)[1] for arm in (5, 5, 11)]
    assert problem.optimum.x == [there.certificate.optimal_action]
    assert problem.optimum.y == there.optimum
    assert "MAX" in str(problem.meta_data.optimization_type).upper()
    box, quiet = env_of(BRANIN), to_ioh(BRANIN, seed=4, noise=False)
    assert quiet([0.25, 0.5]) == pytest.approx(box.mean(np.array([[0.25, 0.5]]))[0], rel=1e-12)
    assert quiet(quiet.optimum.x) == pytest.approx(box.optimum, rel=1e-9)
    with pytest.raises(ValueError, match=r"action: expected coordinates in \[0, 1\]"):
        quiet([1.5, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["botorch_loop", "optunahub_study", "ioh_logger"])
def test_examples_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    library = name.partition("_")[0]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert any(character.isdigit() for character in capsys.readouterr().out)


def test_names_that_are_missing_are_none_of_the_others() -> None:
    domain = Domain((Dimension(name="x1"), Dimension(), Dimension(name="x2"), Dimension()))
    env = gpbandit_envs.from_function(lambda x: x[0] - x[1], domain, name="named")
    instance = Instance(str(env.spec and env.spec.id), 0, {})
    assert instance.names() == ["x1", "x1_", "x2", "x3"]
    assert instance.mean(instance.point({"x1": 1.0, "x1_": 0.25, "x2": 0.0, "x3": 0.0})[None]) == pytest.approx([0.75])
