"""What is said of them."""
