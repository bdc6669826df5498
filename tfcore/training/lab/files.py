"""A trained model as one file: the folder that tfcore.load reads, with the settings and the curves, zipped."""

import io
import json
import tempfile
import zipfile
from pathlib import Path

import torch

from tfcore.loading.checkpoints import save
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import model_of


def packed(spec: LabSpec, state: bytes, curves: str) -> bytes:
    """model.safetensors, config.json, tokenizer.json, settings.json and curves.csv (given as text), as a zip."""
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        folder = Path(place)
        save(model_of(spec, state), folder, NamedTokenizer(task(spec).names), dtype=torch.float32)
        (folder / "settings.json").write_text(json.dumps(spec.to_dict(), indent=2) + "\n", "utf-8")
        (folder / "curves.csv").write_text(curves, "utf-8")
        for file in sorted(folder.iterdir()):
            archive.write(file, f"trained/{file.name}")
    return out.getvalue()
