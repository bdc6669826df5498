"""What the figures in docs/benchmarks.md come from: `python -m benchmarks` runs all of it and keeps the results."""
