"""Whisper out of a model of CTranslate2: a folder as `transformers` writes one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from tfcore.files import CheckpointError, read_json
from tfcore.loading.ctranslate2_file import CTranslate2File
from tfcore.loading.weights import write_open

KIND = "WhisperSpec"
HEAD_WIDTH = 64  # of every published Whisper
# Parts of a layer there -> its name here, and those of its matrices; several lie one below the other there.
SELF = ("self_attention", "self_attn", (("q_proj", "k_proj", "v_proj"), ("out_proj",)))
PARTS = {
    "encoder": (SELF,),
    "decoder": (SELF, ("attention", "encoder_attn", (("q_proj",), ("k_proj", "v_proj"), ("out_proj",)))),
}
SOUNDS = {"feature_size": 80, "sampling_rate": 16_000, "hop_length": 160, "n_fft": 400, "chunk_length": 30}


def write(binary: Path, settings: Path, tokenizer: Path, folder: Path) -> None:
    """Write config.json, preprocessor_config.json, tokenizer.json and model.safetensors into a folder.

    Raises:
        CheckpointError: the file is damaged, or no Whisper.
    """
    file, said = CTranslate2File(binary), read_json(settings)
    if file.kind != KIND:
        raise CheckpointError(f"{binary} is a {file.kind}; {KIND} is read")
    named = dict(_tensors(file))
    config = _config(named, said)
    sounds = SOUNDS | {"feature_size": config["num_mel_bins"]}
    in_order = {name: one.contiguous() for name, one in sorted(named.items())}
    write_open(folder, in_order, {"config": config, "preprocessor_config": sounds})
    shutil.copy(tokenizer, folder / "tokenizer.json")


def _config(named: dict[str, Tensor], said: dict[str, object]) -> dict[str, object]:
    """The settings, read off the shapes, and the ids that it does not write."""
    vocabulary, width = named["model.decoder.embed_tokens.weight"].shape
    end = int(said["suppress_ids_begin"][-1])  # type: ignore[index]
    stacked: dict[str, object] = {}
    for stack in PARTS:
        layers = [name for name in named if name.startswith(f"model.{stack}.") and name.endswith("fc1.bias")]
        stacked |= {
            f"{stack}_layers": len(layers),
            f"{stack}_attention_heads": width // HEAD_WIDTH,
            f"{stack}_ffn_dim": len(named[layers[0]]),
        }
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "vocab_size": vocabulary,
        "d_model": width,
        "num_mel_bins": named["model.encoder.conv1.weight"].shape[1],
        "max_source_positions": len(named["model.encoder.embed_positions.weight"]),
        "max_target_positions": len(named["model.decoder.embed_positions.weight"]),
        **stacked,
        "activation_function": "gelu",
        "bos_token_id": end,
        "eos_token_id": end,
        "decoder_start_token_id": end + 1,
        "suppress_tokens": said["suppress_ids"],
        "begin_suppress_tokens": said["suppress_ids_begin"],
    }


def _tensors(file: CTranslate2File) -> Iterator[tuple[str, Tensor]]:
    """The tensors by the names that `transformers` gives them."""
    yield "model.decoder.embed_tokens.weight", file.tensor("decoder/embeddings/weight")
    for i in (1, 2):
        for kind in ("weight", "bias"):
            yield f"model.encoder.conv{i}.{kind}", file.tensor(f"encoder/conv{i}/{kind}")
    for stack, parts in PARTS.items():
        ours = f"model.{stack}"
        yield f"{ours}.embed_positions.weight", file.tensor(f"{stack}/position_encodings/encodings")
        yield from _norm(file, f"{stack}/layer_norm", f"{ours}.layer_norm")
        layers = {name.split("/")[1] for name in file.names if name.startswith(f"{stack}/layer_") and "/ffn/" in name}
        for layer in range(len(layers)):
            theirs, here = f"{stack}/layer_{layer}", f"{ours}.layers.{layer}"
            for part, name, matrices in parts:
                yield from _norm(file, f"{theirs}/{part}/layer_norm", f"{here}.{name}_layer_norm")
                for i, rows in enumerate(matrices):
                    yield from _rows(file, f"{theirs}/{part}/linear_{i}", [f"{here}.{name}.{row}" for row in rows])
            yield from _norm(file, f"{theirs}/ffn/layer_norm", f"{here}.final_layer_norm")
            for i in (0, 1):
                yield from _rows(file, f"{theirs}/ffn/linear_{i}", [f"{here}.fc{i + 1}"])


def _norm(file: CTranslate2File, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", file.tensor(f"{theirs}/gamma")
    yield f"{ours}.bias", file.tensor(f"{theirs}/beta")


def _rows(file: CTranslate2File, theirs: str, ours: list[str]) -> Iterator[tuple[str, Tensor]]:
    """Matrices that lie one below the other, and their biases; keys have none here, where theirs is 0."""
    for kind in ("weight", "bias"):
        for name, part in zip(ours, file.tensor(f"{theirs}/{kind}").chunk(len(ours)), strict=True):
            if kind == "bias" and name.endswith("k_proj"):
                if part.any():
                    raise CheckpointError(f"{theirs}/bias has a bias of keys, which Whisper has not")
                continue
            yield f"{name}.{kind}", part
