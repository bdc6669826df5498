"""Charts of induction heads."""
