"""What the pages of this chapter compute."""
