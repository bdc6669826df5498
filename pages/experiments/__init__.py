"""What the pages compute, as programs to take home: one function an experiment, one file a page.

The source of such a function is what a visitor downloads, its arguments written out above it; see pages/ui/program.py.
So it imports nothing but tfcore, says in its docstring what it shows, prints the numbers, and returns the figure.
"""
