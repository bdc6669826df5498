"""The residual stream: which part writes what, the logit lens, norm and cosine, and what is lost without a layer."""

from tfcore.views.inside.stream.beside import lens_beside as lens_beside
from tfcore.views.inside.stream.beside import parts_beside as parts_beside
from tfcore.views.inside.stream.beside import place_beside as place_beside
from tfcore.views.inside.stream.lens import lens as lens
from tfcore.views.inside.stream.lens import lenses as lenses
from tfcore.views.inside.stream.lens import stage_by_stage as stage_by_stage
from tfcore.views.inside.stream.parts import parts as parts
from tfcore.views.inside.stream.parts import promoted as promoted
from tfcore.views.inside.stream.parts import summed as summed
from tfcore.views.inside.stream.shape import added as added
from tfcore.views.inside.stream.shape import shape as shape
from tfcore.views.inside.stream.skip import loss_increase as loss_increase
from tfcore.views.inside.stream.skip import without as without
