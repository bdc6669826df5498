"""The atlas of heads: what every head of a model does over a distribution of texts, not on one sentence."""
