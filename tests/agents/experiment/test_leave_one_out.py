"""Whether the model of an experiment predicts: against fits without each outcome, and the rule of the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import agents
from agents import Experiment
from agents.experiment.leave_one_out import Check
from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.regression import GPRegression

RANGES: dict[str, Any] = {"celsius": (20, 120), "rate": agents.log(1e-4, 1), "base": ["KOAc", "K3PO4"]}


def outcomes(n: int, noise: float, rng: np.random.Generator) -> pd.DataFrame:
    celsius, rate = rng.uniform(20, 120, n), 10 ** rng.uniform(-4, 0, n)
    signal = 60 - ((celsius - 70) / 15) ** 2 - 3 * (np.log10(rate) + 2) ** 2
    frame = pd.DataFrame({"celsius": celsius, "rate": rate, "base": rng.choice(RANGES["base"], n), "yield": signal})
    frame["yield"] += noise * rng.standard_normal(n)
    return frame


def without_each(lab: Experiment) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each outcome of a policy's data, from a posterior of the same kernel without its point."""
    agent = lab._informed()
    assert isinstance(agent, LearnedAgent)
    assert isinstance(agent.posterior, GPRegression)
    mean, variance = np.zeros(len(agent.y)), np.zeros(len(agent.y))
    for i in range(len(agent.y)):
        others = (agent.X[i] != agent.X).any(axis=1)
        lam = agent.posterior.lam
        left = GPRegression(agent.posterior.kernel, agent.X[others], agent.y[others], lam, agent.prior_mean)
        answer = left.at(agent.X[i : i + 1])
        mean[i], variance[i] = answer[0][0], answer[1][0] + lam
    return mean, variance


@pytest.mark.parametrize("minimise", [False, True])
def test_it_is_that_of_fits_without_each_outcome_in_its_unit(minimise: bool) -> None:
    data = outcomes(30, 2.0, np.random.default_rng(0))
    data = pd.concat([data, data.iloc[:4].assign(**{"yield": lambda frame: frame["yield"] + 3})])
    sign, prior_mean = (-1 if minimise else 1), 20.0
    lab = Experiment(RANGES, outcome="yield", data=data, repeats=True, minimise=minimise, prior_mean=prior_mean)
    mean, variance = without_each(lab)
    check = lab.check()
    assert check.predictions["outcome"].tolist() == data["yield"].tolist()
    np.testing.assert_allclose(check.predictions["mean"], sign * mean + prior_mean, rtol=1e-7)
    np.testing.assert_allclose(check.predictions["sd"], np.sqrt(variance), rtol=1e-7)

    error = data["yield"].to_numpy() - (sign * mean + prior_mean)
    assert check.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    assert check.rmse_of_mean == pytest.approx(data["yield"].std(ddof=0))
    assert check.coverage == pytest.approx(np.mean(np.abs(error) <= 1.96 * np.sqrt(variance)))
    known = lab._informed().hyperparameters[0]  # type: ignore[union-attr]
    assert check.noise_std == pytest.approx(np.sqrt(known.noise))
    assert check.lengthscales == dict(zip(["celsius", "rate", "base=KOAc", "base=K3PO4"], known.lengthscales))


def test_rows_are_numbered_as_in_results_and_failures_are_none() -> None:
    lab = Experiment(RANGES, outcome="yield", data=outcomes(12, 1.0, np.random.default_rng(1)))
    first, second, third = lab.ask(3)
    lab.tell(third, 41.0)
    lab.tell(first, failed=True)
    lab.tell(second, 40.0)
    predictions, results = lab.check().predictions, lab.results()
    assert predictions.index.tolist() == [*range(12), 13, 14]
    assert predictions["outcome"].equals(results["yield"].dropna().rename("outcome"))
    mean, _ = without_each(lab)
    np.testing.assert_allclose(predictions["mean"], mean, rtol=1e-7)


def test_what_failures_count_as_informs_but_is_not_scored() -> None:
    data = outcomes(15, 1.0, np.random.default_rng(2))
    data.loc[4, "yield"] = None
    lab = Experiment(RANGES, outcome="yield", data=data, failures=True, on_failure="worst")
    mean, _ = without_each(lab)
    assert len(mean) == 15
    assert lab.check().predictions["outcome"].tolist() == data["yield"].dropna().tolist()
    np.testing.assert_allclose(lab.check().predictions["mean"], mean[:14], rtol=1e-7)  # it is told last


def test_a_table_names_the_columns_that_vary() -> None:
    table = pd.DataFrame(
        {"celsius": np.repeat([20, 60, 90, 120], 3), "flask": 5, "base": ["a", "b", "c"] * 4, "yield": np.arange(12.0)}
    )
    check = Experiment(table, outcome="yield").check()
    assert list(check.lengthscales) == ["celsius", "base=a", "base=b", "base=c"]
    assert check.lengthscales["celsius"] < 5
    text = str(check)
    for part in ("yield: 12 outcomes, each predicted", "learnt noise ", f"celsius {check.lengthscales['celsius']:.2g}"):
        assert part in text
    assert text.splitlines()[-1] == check.verdict
    assert max(map(len, text.splitlines()[:-1])) <= 100


class TestVerdict:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_signal_is_believed_and_noise_is_not(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        data = outcomes(40, 1.0, rng)
        check = Experiment(RANGES, outcome="yield", data=data).check()
        assert check.verdict.startswith(f"Yes: its error is {check.rmse / check.rmse_of_mean:.2f} times that of")
        noise = data.assign(**{"yield": rng.permutation(data["yield"])})
        assert Experiment(RANGES, outcome="yield", data=noise).check().verdict.split(":")[0] in ("No", "Hardly")

    @pytest.mark.parametrize(
        ("error", "sd", "verdict"),
        [
            (0.95, 1.0, "No: its error is 0.95 times that of the mean alone."),
            (0.80, 1.0, "Hardly: its error is 0.80 times that of the mean alone, which chance may give."),
            (0.50, 0.1, "In part: its error is 0.50 times that of the mean alone, but its intervals are too narrow, "),
            (0.50, 1.0, "Yes: its error is 0.50 times that of the mean alone, and 20 of 20 outcomes lie within their "),
        ],
    )
    def test_it_follows_the_rule(self, error: float, sd: float, verdict: str) -> None:
        outcome = np.tile([-1.0, 1.0], 10)
        predictions = pd.DataFrame({"outcome": outcome, "mean": outcome * (1 - error), "sd": sd})
        assert Check("yield", predictions, 20, 1.0, {"x": 1.0}, 20).verdict.startswith(verdict)
        early = Check("yield", predictions, 20, 1.0, {"x": 1.0}, 21).verdict
        assert early == "Too early to tell: 20 outcomes, and it takes 21."

    @pytest.mark.parametrize(("inside", "begins"), [(16, "Yes"), (15, "In part")])
    def test_intervals_are_narrow_where_one_case_in_a_hundred_is_as_bad(self, inside: int, begins: str) -> None:
        # 15 or fewer of 20 with probability 0.0026, 16 or fewer with 0.016.
        outcome, sd = np.tile([-1.0, 1.0], 10), np.where(np.arange(20) < inside, 1.0, 0.01)
        predictions = pd.DataFrame({"outcome": outcome, "mean": outcome * 0.9, "sd": sd})
        assert Check("yield", predictions, 20, 1.0, {"x": 1.0}, 10).verdict.startswith(begins)

    @pytest.mark.parametrize(
        ("n", "settings", "fewest"),
        [(9, {}, 10), (12, {}, None), (12, {"n_initial": 14}, 14), (3, {}, 10), (9, {"categories": False}, 12)],
    )
    def test_it_waits_for_outcomes_a_lengthscale(self, n: int, settings: dict[str, Any], fewest: int | None) -> None:
        lab = Experiment(RANGES, ("MAP-BUCB", settings), outcome="yield")
        for row in outcomes(n, 1.0, np.random.default_rng(0)).to_dict("records"):
            lab.tell({str(name): row[name] for name in RANGES}, row["yield"])
        verdict = lab.check().verdict
        assert verdict.startswith("Too early") == (fewest is not None)
        if fewest is not None:
            assert verdict == f"Too early to tell: {n} outcomes, and it takes {fewest}."

    def test_repeats_of_a_point_tell_nothing_of_others(self) -> None:
        for seed in range(5):
            rng = np.random.default_rng(seed)
            rows = [
                {"x": x, "yield": level + noise}
                for x, level in zip(rng.random(12), rng.normal(50, 10, 12), strict=True)
                for noise in rng.normal(0, 1, 3)
            ]
            check = Experiment({"x": (0, 1)}, outcome="yield", data=rows, repeats=True).check()
            assert check.points == 12
            assert check.verdict.split(":")[0] in ("No", "Hardly")
            assert "36 outcomes, each predicted from the others, those at its own point left out; 12 diff" in repr(
                check
            )
        early = Experiment({"x": (0, 1)}, outcome="yield", data=rows[:15], repeats=True).check()
        assert early.verdict == "Too early to tell: 5 different points, and it takes 10."

    def test_equal_outcomes_teach_nothing(self) -> None:
        data = outcomes(15, 1.0, np.random.default_rng(0)).assign(**{"yield": 3.0})
        check = Experiment(RANGES, outcome="yield", data=data).check()
        assert check.verdict == "No: all outcomes are equal, and nothing can be learnt from them."

    def test_a_category_has_one_lengthscale(self) -> None:
        rng = np.random.default_rng(0)
        ranges = {"x": (0, 1), "a": list("abcdefgh"), "b": list("abcdefgh"), "c": list("abcdefgh")}
        data = pd.DataFrame({"x": rng.random(10), **{name: rng.choice(ranges[name], 10) for name in "abc"}})
        data["outcome"] = rng.standard_normal(10)
        for settings, fewest in (({}, 12), ({"categories": False}, 75)):
            assert Experiment(ranges, ("MAP-BUCB", settings), data=data).check().fewest == fewest

    @pytest.mark.parametrize("dim", [1, 6])
    def test_noise_alone_is_rarely_believed(self, dim: int) -> None:
        """At most one set in ten at the fewest outcomes, up to four standard errors of 60 sets."""
        believed, sets = 0, 60
        for seed in range(sets):
            rng = np.random.default_rng(seed)
            n = max(10, 3 * dim)
            data = pd.DataFrame(rng.random((n, dim)), columns=[f"x{j}" for j in range(dim)])
            data["outcome"] = rng.standard_normal(n)
            check = Experiment({f"x{j}": (0, 1) for j in range(dim)}, data=data).check()
            assert check.fewest == n
            believed += check.verdict.startswith("Yes")
        assert believed <= sets * 0.1 + 4 * np.sqrt(sets * 0.1 * 0.9)


def test_policies_without_such_a_posterior_say_so() -> None:
    data = pd.DataFrame({"x": np.linspace(0, 1, 12), "outcome": np.linspace(0, 1, 12) ** 2})
    settings = {"burn_in": 2, "samples": 3, "n_initial": 4}
    with pytest.raises(ValueError, match="check: 'MCMC-UCB' averages over many kernels, expected a policy with a si"):
        Experiment({"x": (0, 1)}, ("MCMC-UCB", settings), data=data).check()
    given = Experiment({"x": (0, 1)}, "GP-UCB", data=data, kernel={"name": "se"}, noise_std=0.1)
    for lab, name in ((given, "GP-UCB"), (Experiment({"x": (0, 1)}, "Random", data=data), "Random")):
        with pytest.raises(ValueError, match=f"check: '{name}' does not learn a kernel, expected a policy that does"):
            lab.check()
    with pytest.raises(ValueError, match="check: expected at least one outcome, got none yet"):
        Experiment({"x": (0, 1)}).check()
    assert Experiment({"x": (0, 1)}, "MAP-UCB", data=data).check().verdict.startswith("Yes")


class TestOpenValues:
    """No "Yes" while a value of a category is unseen, or may be better than the best point by more than the error."""

    @staticmethod
    def rows(levels: str, n: int = 30) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"x": rng.random(n).round(6), "level": [levels[i % len(levels)] for i in range(n)]})
        return frame.assign(outcome=-9 * (frame["x"] - 0.6) ** 2 + 0.3 * rng.standard_normal(n))

    def test_a_value_that_was_never_seen(self) -> None:
        ranges, data = {"x": (0, 1), "level": ["a", "b", "c"]}, self.rows("ab")
        check = Experiment(ranges, data=data).check()
        assert check.best_cases["level=c"] == np.inf
        assert check.verdict.startswith("In part: ")
        assert check.verdict.endswith("but no outcome has level=c; ask(n, fixed=...) tries one.")
        forbidden = [agents.forbid([{"level": "c"}])]
        assert Experiment(ranges, data=data, constraints=forbidden).check().verdict.startswith("Yes")
        wide = Experiment({"x": (0, 1), "level": list("abcdefg")}, data=data).check()
        assert "but no outcome has level=c, level=d, level=e, ...; ask" in wide.verdict
        table = pd.concat([data, pd.DataFrame({"x": [0.5], "level": ["c"]})])
        assert Experiment(table).check().open == ("level=c",)
        limited = Experiment(
            ranges, outcome={"outcome": "max", "pure": ">= -3"}, data=data.assign(pure=data["outcome"])
        )
        assert limited.check("pure").best_cases == {"level=c": np.inf}  # of a limit no value is the best

    def test_a_value_seen_where_it_is_poor(self) -> None:
        poor = pd.concat([self.rows("a"), pd.DataFrame({"x": [0.02], "level": ["b"], "outcome": [-2.0]})])
        check = Experiment({"x": (0, 1), "level": ["a", "b"]}, data=poor).check()
        assert check.open == ("level=b",)
        assert check.verdict.endswith("but less than 4 outcomes have level=b; ask(n, fixed=...) tries one.")
        assert check.best_cases["level=b"] > check.rmse
        assert check.best_cases["level=a"] == 0  # that of the best point

    @pytest.mark.parametrize(("n", "better", "found"), [(3, -1.0, True), (3, -9.0, False), (4, -1.0, False)])
    def test_a_value_seen_seldom_is_open_unless_it_is_far_below(self, n: int, better: float, found: bool) -> None:
        """A campaign may have ended with the second best value, as the model was sure of three outcomes."""
        few = self.rows("b", n).assign(x=np.linspace(0.3, 0.9, n).round(6))
        few["outcome"] = better - 9 * (few["x"] - 0.6) ** 2
        check = Experiment({"x": (0, 1), "level": ["a", "b"]}, data=pd.concat([self.rows("a"), few])).check()
        assert check.best_cases["level=b"] < 0
        assert check.open == (("level=b",) if found else ())
        assert check.verdict.startswith("In part" if found else "Yes")

    def test_values_that_make_no_difference_are_none(self) -> None:
        check = Experiment({"x": (0, 1), "level": ["a", "b", "c"]}, data=self.rows("abc")).check()
        assert check.open == ()
        assert check.verdict.startswith("Yes")
