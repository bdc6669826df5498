"""Weights, activations and caches rounded to few bits."""
