"""Writing text: greedy and sampled decoding, beam search, speculative decoding, the KV cache."""
