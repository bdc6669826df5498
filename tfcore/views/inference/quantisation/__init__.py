"""Quantisation: what is lost with fewer bits, of weights, activations and the KV cache, and what is gained."""
