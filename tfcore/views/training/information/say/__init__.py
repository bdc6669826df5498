"""Findings about information."""
