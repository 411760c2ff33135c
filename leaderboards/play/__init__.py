"""Agents play environments: specs, streams, the runner, executors, the schedule and the store."""
