"""Features: what sparse dictionaries find in a text, and how good the dictionaries are."""
