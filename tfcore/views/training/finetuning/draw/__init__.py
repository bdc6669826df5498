"""Pictures of fine-tuning."""
