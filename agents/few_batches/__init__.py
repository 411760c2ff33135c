"""Policies that need few batches."""
