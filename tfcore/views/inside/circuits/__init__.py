"""Circuits: the attribution graph of a prediction, from feature to feature, and edges between heads."""

from tfcore.views.inside.circuits.edges import edge_graph as edge_graph
from tfcore.views.inside.circuits.edges import edges_left as edges_left
from tfcore.views.inside.circuits.features import forecast as forecast
from tfcore.views.inside.circuits.features import graph as graph
from tfcore.views.inside.circuits.features import links as links
