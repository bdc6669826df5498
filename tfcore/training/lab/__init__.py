"""Small trainings of the page "Train a model": a spec holds all settings, and a run is trained slice by slice."""
