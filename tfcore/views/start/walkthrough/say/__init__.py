"""Findings on each stage of a walk, and its words."""
