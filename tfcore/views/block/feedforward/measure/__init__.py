"""Measurements of neurons, activation functions and gates."""
