"""The pages of the app: one flat script each, and what they share in `pages.ui`."""
