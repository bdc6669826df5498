"""An RNN, an LSTM and a Transformer of equal size: the networks, their tasks and what is kept of their trainings."""
