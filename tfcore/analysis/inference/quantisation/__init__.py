"""Weights, activations and caches in fewer bits: grids, errors, outliers, and what they cost."""
