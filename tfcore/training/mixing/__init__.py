"""Attention, mixers that carry a state, and hybrids, trained alike to recall pairs; and what is kept of it."""
