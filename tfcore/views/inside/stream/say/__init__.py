"""Findings about the residual stream."""
