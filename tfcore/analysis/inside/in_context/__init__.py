"""In-context learning: examples in the prompt, the heads that use them, and steps written before an answer."""
