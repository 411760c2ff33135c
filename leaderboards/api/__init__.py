"""What does a person call? `run_suite` and `Results`, which `leaderboards` gives by name."""
