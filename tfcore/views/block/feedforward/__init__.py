"""Feed-forward layers: neurons as keys and values, activation functions, gated layers, and the share of a block."""

from tfcore.views.block.feedforward.layers import curve as curve
from tfcore.views.block.feedforward.layers import inputs as inputs
from tfcore.views.block.feedforward.layers import matrices as matrices
from tfcore.views.block.feedforward.layers import shares as shares
from tfcore.views.block.feedforward.layers import unit as unit
from tfcore.views.block.feedforward.layers import unit_slice as unit_slice
from tfcore.views.block.feedforward.neurons import along as along
from tfcore.views.block.feedforward.neurons import most_active as most_active
from tfcore.views.block.feedforward.neurons import most_tokens as most_tokens
from tfcore.views.block.feedforward.neurons import on_text as on_text
from tfcore.views.block.feedforward.neurons import value as value
from tfcore.views.block.feedforward.neurons import value_there as value_there
from tfcore.views.block.feedforward.neurons import writers as writers
