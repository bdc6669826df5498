"""Tokens: measured."""
