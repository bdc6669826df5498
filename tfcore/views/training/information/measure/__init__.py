"""Numbers of information: entropies, fits, joint tables, the bits of a text and what others need for it."""
