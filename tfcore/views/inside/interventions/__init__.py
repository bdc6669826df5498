"""Interventions: parts ablated or scaled, activations patched in from another text, what each token of a text adds, and
all of it over a set of prompts."""

from tfcore.views.inside.interventions.inputs import coloured_text as coloured_text
from tfcore.views.inside.interventions.inputs import compared_methods as compared_methods
from tfcore.views.inside.interventions.patches import patched as patched
from tfcore.views.inside.interventions.patches import patched_next as patched_next
from tfcore.views.inside.interventions.sets import prompt_board as prompt_board
from tfcore.views.inside.interventions.sets import prompt_effects as prompt_effects
from tfcore.views.inside.interventions.switches import agreement as agreement
from tfcore.views.inside.interventions.switches import edited as edited
from tfcore.views.inside.interventions.switches import switched as switched
