"""Baseline policies for comparison."""
