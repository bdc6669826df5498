"""Findings about induction heads."""
