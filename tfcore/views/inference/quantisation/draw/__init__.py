"""Figures of quantisation."""
