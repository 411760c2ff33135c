"""How good was it? Metrics, intervals, statistics and theory on named arrays, and the reduction of a folder."""
