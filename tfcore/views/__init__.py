"""Views: each picture of the project as one thing, with its numbers, its words, and how it was made.

A subject is a folder, `tfcore/views/<chapter>/<subject>/`, whose functions take a model, a text and settings and return
a `View`. Pages, scripts and notebooks show views; none of them computes or draws.
"""
