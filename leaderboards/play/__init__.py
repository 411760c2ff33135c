"""What is one run, and how is it played? Specs, streams, suites, the run and its record."""
