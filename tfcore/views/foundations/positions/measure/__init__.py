"""Positions: measured."""
