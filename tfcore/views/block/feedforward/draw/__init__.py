"""Pictures of the feed-forward layer."""
