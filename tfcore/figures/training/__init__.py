"""What the pages of this chapter draw."""
