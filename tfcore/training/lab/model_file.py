"""A trained model as one file: the folder that tfcore.load reads, with the settings and the curves, zipped."""

import io
import json
import zipfile

from safetensors.torch import save

from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import model_of


def packed(spec: LabSpec, state: bytes, curves: str) -> bytes:
    """model.safetensors, config.json, tokenizer.json, settings.json and curves.csv (given as text), as a zip; made in
    memory, so that no full disk is in its way."""
    out, model = io.BytesIO(), model_of(spec, state)
    files: dict[str, str | bytes] = {
        "config.json": json.dumps(model.config.to_dict(), indent=2) + "\n",
        "curves.csv": curves,
        "model.safetensors": save({name: tensor.contiguous() for name, tensor in model.state_dict().items()}),
        "settings.json": json.dumps(spec.to_dict(), indent=2) + "\n",
        "tokenizer.json": NamedTokenizer(task(spec).names).to_json(),
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"trained/{name}", content)
    return out.getvalue()
