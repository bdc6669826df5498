"""What the cache saves, takes and leaves unused, in numbers."""
