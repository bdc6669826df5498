"""Induction heads: which heads of a model copy, the circuit of two of them, and a training in which they form."""

from tfcore.views.inside.induction.circuit import composition as composition
from tfcore.views.inside.induction.circuit import head_tests as head_tests
from tfcore.views.inside.induction.circuit import path_patching as path_patching
from tfcore.views.inside.induction.find import losses as losses
from tfcore.views.inside.induction.find import scores as scores
from tfcore.views.inside.induction.find import stripe as stripe
from tfcore.views.inside.induction.training import course as course
from tfcore.views.inside.induction.training import film_by_position as film_by_position
from tfcore.views.inside.induction.training import film_course as film_course
from tfcore.views.inside.induction.training import film_maps as film_maps
from tfcore.views.inside.induction.training import maps as maps
