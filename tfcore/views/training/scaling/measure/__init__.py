"""Numbers of scaling: splits of a budget, laws as curves, published models, costs, our own ladder."""
