"""What pictures are made of."""
