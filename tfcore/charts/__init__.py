"""Parts that pictures are made of."""
