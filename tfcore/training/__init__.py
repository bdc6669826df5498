"""Training: data, optimiser, loop and the recipes of the shipped models. `python -m tfcore.training RECIPE`."""
