"""Numbers of quantisation: rows and matrices, losses, blocks of a file, times."""
