"""Shared by pages: figures, controls bound to the address, caches, text that cannot break anything."""
