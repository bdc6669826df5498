"""Figures of residual connections."""
