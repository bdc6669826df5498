"""Attention itself: its steps on a few tokens, tokens compared, why scores are divided by sqrt(d_k), temperature."""

from tfcore.views.foundations.attention.scale import divided_products as divided_products
from tfcore.views.foundations.attention.scale import entropy as entropy
from tfcore.views.foundations.attention.scale import gradient as gradient
from tfcore.views.foundations.attention.scale import largest as largest
from tfcore.views.foundations.attention.scale import products as products
from tfcore.views.foundations.attention.scale import slopes as slopes
from tfcore.views.foundations.attention.scale import variance as variance
from tfcore.views.foundations.attention.steps import planes as planes
from tfcore.views.foundations.attention.steps import steps as steps
from tfcore.views.foundations.attention.steps import temperature as temperature
from tfcore.views.foundations.attention.word_pairs import embeddings as embeddings
from tfcore.views.foundations.attention.word_pairs import scores as scores
