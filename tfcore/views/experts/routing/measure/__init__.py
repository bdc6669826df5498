"""Measurements of routers."""
