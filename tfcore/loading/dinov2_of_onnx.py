"""DINOv2's trunk out of an ONNX file that has another head on it: a folder as `transformers` writes one."""

from pathlib import Path

from torch import Tensor

from tfcore.loading.onnx_file import OnnxFile
from tfcore.loading.weights import write_open

TRUNK = "backbone."
# What PyTorch's exporter does not name: matrices, by the node that reads them, and positions.
MATRICES = (
    "attention.attention.query",
    "attention.attention.key",
    "attention.attention.value",
    "attention.output.dense",
    "mlp.fc1",
    "mlp.fc2",
)
CLASS_PLACE, PLACES = "/backbone/embeddings/Concat_6", "/backbone/embeddings/Reshape_1"
SETTINGS = {
    "architectures": ["Dinov2Model"],
    "model_type": "dinov2",
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 6,
    "mlp_ratio": 4,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-6,
    "image_size": 518,
    "patch_size": 14,
    "num_channels": 3,
    "qkv_bias": True,
}
PICTURES = {
    "crop_size": {"height": 224, "width": 224},
    "do_center_crop": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
    "resample": 3,
    "size": {"shortest_edge": 224},
}


def write(onnx: Path, folder: Path) -> None:
    """Write config.json, preprocessor_config.json and model.safetensors of the trunk into a folder."""
    write_open(folder, tensors(OnnxFile(onnx)), {"config": SETTINGS, "preprocessor_config": PICTURES})


def tensors(file: OnnxFile) -> dict[str, Tensor]:
    """The tensors of the trunk by the names that `transformers` gives them."""
    import torch

    named = {name.removeprefix(TRUNK): file.tensor(name) for name in file.names if name.startswith(TRUNK)}
    for layer in range(int(SETTINGS["num_hidden_layers"])):  # type: ignore[call-overload]
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}"
            named[f"{name}.weight"] = file.read_by(
                f"/backbone/{name.replace('.', '/')}/MatMul".replace(f"layer/{layer}", f"layer.{layer}")
            ).T.contiguous()
    places = file.read_by(CLASS_PLACE), file.read_by(PLACES)
    named["embeddings.position_embeddings"] = torch.cat([one.reshape(1, -1, one.shape[-1]) for one in places], dim=1)
    return dict(sorted(named.items()))
