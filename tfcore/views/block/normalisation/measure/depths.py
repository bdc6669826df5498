"""Deep networks at initialisation, each measured once for all pictures of it."""

from tfcore.measures import deep_networks
from tfcore.views.kept import kept

probe_of = kept(deep_networks.probe, entries=1_024)
