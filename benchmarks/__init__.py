"""What the README's figures come from: `python -m benchmarks` runs all of it and keeps the results."""
