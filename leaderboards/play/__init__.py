"""What is one run, and how is it played? Specs, streams, suites, feedback, the run and its record."""
