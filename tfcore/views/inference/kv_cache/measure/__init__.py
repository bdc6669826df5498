"""Measurements: what the cache saves, takes and leaves unused."""
