from leaderboards.text import wall_time

CLOCK = "by the wall clock, which counts what else the machine did"


def test_long_runs_are_counted_in_hours() -> None:
    assert wall_time([1800.0, 3600.0, 0.4]) == f"1.5 core hours {CLOCK}; the longest run 3600 s"


def test_short_runs_are_counted_in_seconds() -> None:
    assert wall_time([20.0, 30.0]) == f"50 core seconds {CLOCK}; the longest run 30 s"


def test_of_no_runs_nothing_is_said() -> None:
    assert wall_time([]) == ""
