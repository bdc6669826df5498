"""Numbers of normalisation: by hand, over which axis, of deep networks and their first steps."""
