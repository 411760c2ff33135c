"""Ratios of speed, growth of time and memory; run on demand, `python -m benchmarks.run`."""
