"""Figures of two models compared."""
