"""Numbers of induction heads."""
