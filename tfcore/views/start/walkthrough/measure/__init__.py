"""Measurements of a text on its way through a model."""
