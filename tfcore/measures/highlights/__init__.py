"""Highlights of a text: which links, repetitions, surprises and decisions of a model are worth seeing in it."""
