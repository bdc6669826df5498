"""Results in, plotly figures out. Nothing here imports torch, and only `theme` knows colours."""
