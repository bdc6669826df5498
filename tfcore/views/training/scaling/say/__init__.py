"""Findings about scaling."""
