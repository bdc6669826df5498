"""Reading and writing what is stored: checkpoints, weights, families of models, the hub."""
