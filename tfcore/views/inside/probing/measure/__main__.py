"""Probe the models that come with the app for every property, and write probes.json beside this file.

Takes about four minutes on one core, which is faster than several, as its matrices are small. The real models have to
be there (python -m tfcore.loading).
"""

import sys

import torch

from tfcore.loading.checkpoints import load
from tfcore.views.inside.probing.measure.by_layer import ProbedLayer, probe_each
from tfcore.views.inside.probing.measure.properties import PROPERTIES
from tfcore.views.inside.probing.measure.shipped import FILE, MODELS, written

torch.set_num_threads(1)
probed: dict[str, dict[str, list[ProbedLayer]]] = {}
for model_name in MODELS:
    model, tokenizer = load(model_name)
    if tokenizer is None:
        raise SystemExit(f"{model_name} has no tokenizer")
    model.eval().requires_grad_(False)
    probed[model_name] = {}
    for name in PROPERTIES:
        probed[model_name][name] = list(probe_each(model, tokenizer, name))
        sys.stdout.write(f"{model_name}: {name}\n")
FILE.write_text(written(probed), "utf-8")
