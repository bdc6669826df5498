"""Their pictures."""
