"""Tests of the data layer and of each table."""
