"""What is made once and kept in the repository."""
