"""Positions: drawn."""
