"""Heads: what they attend to, what kind each is, and how one reads what another wrote."""
