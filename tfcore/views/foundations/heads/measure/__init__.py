"""Attention heads: measured."""
