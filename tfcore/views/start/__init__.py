"""Views of the chapter that the application starts with."""
