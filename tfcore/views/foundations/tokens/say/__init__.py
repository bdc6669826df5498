"""Findings on tokens."""
