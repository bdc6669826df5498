"""Exercises with numbers: each function draws the values of one from a generator, and computes its answer.

One file a chapter. An exercise returns a Problem; the words around it belong to the page that asks. To add one, write
a function that draws its values, answers with a function of tfcore, and names the mistakes worth recognising.
"""

from tfcore.views.reference.check.measure.problem import Problem

__all__ = ["Problem"]
