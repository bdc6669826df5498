"""Looking inside a forward pass: capture activations, edit them."""
