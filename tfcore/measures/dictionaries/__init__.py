"""Dictionaries of features: how good they are, what each feature is active on, how they grow."""
