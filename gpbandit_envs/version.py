"""The version of the distribution, kept apart so that the build can read it without importing NumPy."""

__version__ = "1.0.0"
