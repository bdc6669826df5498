"""Attention heads: drawn."""
