"""Numbers of circuits: edges between heads, and attribution graphs of features."""
