"""Slow, dense implementations that are obviously right: the judges of the fast ones."""
