"""Attention heads: all heads of a model on a text, one in full, why one looks at a token, two side by side, and how
one width is cut into heads."""

from tfcore.views.foundations.heads.every_head import head as head
from tfcore.views.foundations.heads.every_head import head_map as head_map
from tfcore.views.foundations.heads.every_head import implied as implied
from tfcore.views.foundations.heads.every_head import layer_mean as layer_mean
from tfcore.views.foundations.heads.every_head import mosaic as mosaic
from tfcore.views.foundations.heads.every_head import one_token as one_token
from tfcore.views.foundations.heads.every_head import portrait as portrait
from tfcore.views.foundations.heads.every_head import rolled_out as rolled_out
from tfcore.views.foundations.heads.score import pairs as pairs
from tfcore.views.foundations.heads.score import why as why
from tfcore.views.foundations.heads.side_by_side import one_of_two as one_of_two
from tfcore.views.foundations.heads.side_by_side import two_heads as two_heads
from tfcore.views.foundations.heads.side_by_side import two_models as two_models
from tfcore.views.foundations.heads.side_by_side import two_texts as two_texts
from tfcore.views.foundations.heads.splits import cuts as cuts
from tfcore.views.foundations.heads.splits import product as product
from tfcore.views.foundations.heads.splits import shared_maps as shared_maps
from tfcore.views.foundations.heads.splits import sharing as sharing
