"""Figures of normalisation."""
