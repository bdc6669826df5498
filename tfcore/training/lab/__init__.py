"""Small trainings that somebody watches: a spec says all about one, and it is trained slice by slice."""
