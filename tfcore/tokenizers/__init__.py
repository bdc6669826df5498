"""Text to ids and back: our own tokenizers, and those of others in a process of their own."""
