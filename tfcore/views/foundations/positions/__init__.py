"""Positions: vectors that are added to embeddings, rotations and biases that act on scores, and all compared."""

from tfcore.views.foundations.positions.compared import TOKENS as TOKENS
from tfcore.views.foundations.positions.compared import added as added
from tfcore.views.foundations.positions.compared import beyond as beyond
from tfcore.views.foundations.positions.compared import effects_of as effects_of
from tfcore.views.foundations.positions.compared import measured as measured
from tfcore.views.foundations.positions.compared import outputs as outputs
from tfcore.views.foundations.positions.compared import shuffle_of as shuffle_of
from tfcore.views.foundations.positions.compared import shuffled as shuffled
from tfcore.views.foundations.positions.compared import together as together
from tfcore.views.foundations.positions.scores import alibi as alibi
from tfcore.views.foundations.positions.scores import bias as bias
from tfcore.views.foundations.positions.scores import rope as rope
from tfcore.views.foundations.positions.scores import rotary_pairs as rotary_pairs
from tfcore.views.foundations.positions.scores import slopes as slopes
from tfcore.views.foundations.positions.scores import two_bases as two_bases
from tfcore.views.foundations.positions.vectors import components as components
from tfcore.views.foundations.positions.vectors import curves as curves
from tfcore.views.foundations.positions.vectors import learned as learned
from tfcore.views.foundations.positions.vectors import position_vectors as position_vectors
from tfcore.views.foundations.positions.vectors import products as products
from tfcore.views.foundations.positions.vectors import shift as shift
from tfcore.views.foundations.positions.vectors import sinusoidal as sinusoidal
from tfcore.views.foundations.positions.vectors import wavelengths as wavelengths
