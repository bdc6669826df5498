"""A GGUF file as a checkpoint of one of the families: its settings and names in the words of Hugging Face's files.

llama.cpp's converter writes the files, and changes some tensors on the way; here this is undone: rows of q and k of
LLaMA are put back in their order (it interleaves the two halves of every rotation), Gemma's scales lose the 1 that was
added, and GPT-2's matrices are turned again.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tfcore.loading.gguf_file import Elsewhere, GgufFile
from tfcore.loading.weights import CheckpointError, size
from tfcore.part_configs import RopeScaling
from tfcore.positions import rope_frequencies

_LLAMA = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "output": "lm_head",
    "blk.*.attn_norm": "layers.*.input_layernorm",
    "blk.*.ffn_norm": "layers.*.post_attention_layernorm",
    "blk.*.attn_q": "layers.*.self_attn.q_proj",
    "blk.*.attn_k": "layers.*.self_attn.k_proj",
    "blk.*.attn_v": "layers.*.self_attn.v_proj",
    "blk.*.attn_output": "layers.*.self_attn.o_proj",
    "blk.*.attn_q_norm": "layers.*.self_attn.q_norm",
    "blk.*.attn_k_norm": "layers.*.self_attn.k_norm",
    "blk.*.ffn_gate": "layers.*.mlp.gate_proj",
    "blk.*.ffn_up": "layers.*.mlp.up_proj",
    "blk.*.ffn_down": "layers.*.mlp.down_proj",
}
_GPT2 = {
    "token_embd": "wte",
    "position_embd": "wpe",
    "output_norm": "ln_f",
    "output": "lm_head",
    "blk.*.attn_norm": "h.*.ln_1",
    "blk.*.ffn_norm": "h.*.ln_2",
    "blk.*.attn_qkv": "h.*.attn.c_attn",
    "blk.*.attn_output": "h.*.attn.c_proj",
    "blk.*.ffn_up": "h.*.mlp.c_fc",
    "blk.*.ffn_down": "h.*.mlp.c_proj",
}
_FACTORS = "rope_freqs.weight"  # by which LLaMA 3.1's frequencies are divided, pair by pair
_LARGEST_FACTORS = 100_000  # bytes; LLaMA 3.1 has 64 numbers
_LONG_CONTEXT = RopeScaling(kind="llama3", original_len=8192, low_freq=1.0, high_freq=4.0)  # LLaMA 3.1 and 3.2


@dataclass(frozen=True, slots=True)
class _Kind:
    """An architecture of GGUF.

    Args:
        family: in tfcore.loading.families.
        names: module there -> module in the family's files.
        interleaved: whether rows of q and k are.
        added: whether 1 was added to the scales of norms.
        turned: ends of the names of matrices that are stored (in, out) in the family's files.
    """

    family: str
    names: Mapping[str, str]
    interleaved: bool = False
    added: bool = False
    turned: tuple[str, ...] = ()


KINDS = {
    "llama": _Kind("llama", _LLAMA, interleaved=True),  # Mistral's are called llama, too
    "qwen2": _Kind("qwen2", _LLAMA),
    "qwen3": _Kind("qwen3", _LLAMA),
    "gemma": _Kind("gemma", _LLAMA, added=True),
    "gpt2": _Kind("gpt2", _GPT2, turned=("c_attn.weight", "c_proj.weight", "c_fc.weight")),
}
_WINDOWLESS = {"use_sliding_window": False}  # llama.cpp runs these families without a window


class GgufWeights:
    """The tensors of a GGUF file by the names of its family; the same methods as tfcore.loading.weights.Weights.

    Args:
        path: of the file.
        elsewhere: see GgufFile.

    Attributes:
        values: what config.json of such a model would say.

    Raises:
        CheckpointError: what is missing, damaged or unknown.
    """

    def __init__(self, path: Path, elsewhere: Elsewhere | None = None) -> None:
        self.path = path
        self.file = GgufFile(path, elsewhere)
        try:
            self._kind = self._known()
            self._theirs = {self._renamed(name): name for name in self.file.tensors if name != _FACTORS}
            self.values = self._settings()
        except BaseException:
            self.file.__exit__(None, None, None)
            raise

    def __enter__(self) -> "GgufWeights":
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.__exit__(*error)

    def __contains__(self, name: str) -> bool:
        return name in self._theirs

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every tensor."""
        found = {name: self.file.tensors[theirs].shape for name, theirs in self._theirs.items()}
        return {name: shape[::-1] if self._is_turned(name) else shape for name, shape in found.items()}

    def check_numbers(self, names: list[str]) -> None:
        """All kinds that can be read are floating-point numbers."""

    def read(self, name: str) -> Tensor:
        """The numbers of one tensor, in float32."""
        tensor = self.file.read(self._theirs[name])
        if self._kind.interleaved and (part := re.search(r"self_attn\.([qk])_proj\.", name)):
            heads = self.values["num_attention_heads" if part[1] == "q" else "num_key_value_heads"]
            pairs = tensor.unflatten(0, (heads, -1, 2))  # (head, pair, half, ...)
            return pairs.transpose(1, 2).flatten(0, 2)
        if self._kind.added and "norm" in name:
            return tensor - 1
        return tensor.T if self._is_turned(name) else tensor

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal; of a file elsewhere, whether they can be."""
        if self.file.elsewhere is not None:
            first, second = (self.file.tensors[self._theirs[name]] for name in (one, other))
            return (first.shape, first.kind) == (second.shape, second.kind)
        return torch.equal(self.read(one), self.read(other))

    def _is_turned(self, name: str) -> bool:
        return name.endswith(self._kind.turned) if self._kind.turned else False

    def _known(self) -> _Kind:
        name = self.file.settings.get("general.architecture")
        if not isinstance(name, str) or name not in KINDS:
            raise self._error(f"holds a model of the architecture {str(name)[:40]!r}; {', '.join(KINDS)} can be read")
        if self.file.settings.get(f"{name}.expert_count"):
            raise self._error("holds a mixture of experts, which is read from safetensors files alone")
        return KINDS[str(name)]

    def _renamed(self, name: str) -> str:
        """A tensor's name in the family's files."""
        module, _, ending = name.rpartition(".")
        number = re.match(r"blk\.(\d{1,6})\.", name)
        pattern = re.sub(r"^blk\.\d+\.", "blk.*.", module)
        if pattern not in self._kind.names or ending not in ("weight", "bias"):
            raise self._error(f"holds the tensor {name[:80]!r}, which models of its architecture do not have")
        return f"{self._kind.names[pattern].replace('*', number[1] if number else '')}.{ending}"

    def _settings(self) -> dict[str, Any]:
        """What config.json would say."""
        architecture = str(self.file.settings["general.architecture"])
        table = self.file.tensors.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise self._error("lacks the matrix token_embd.weight")

        def of(key: str, default: Any = None) -> Any:
            found = self.file.settings.get(f"{architecture}.{key}", default)
            return found.item() if isinstance(found, np.generic) else found

        vocabulary: dict[str, Any] = {"vocab_size": table.shape[0], "model_type": self._kind.family}
        vocabulary["bos_token_id"] = self.file.settings.get("tokenizer.ggml.bos_token_id")
        vocabulary["tie_word_embeddings"] = "output.weight" not in self.file.tensors or architecture == "gpt2"
        if architecture == "gpt2":
            return vocabulary | {
                "n_embd": of("embedding_length"),
                "n_layer": of("block_count"),
                "n_head": of("attention.head_count"),
                "n_inner": of("feed_forward_length"),
                "n_positions": of("context_length"),
                "layer_norm_epsilon": of("attention.layer_norm_epsilon", 1e-5),
            }
        heads = of("attention.head_count")
        kept = of("attention.key_length", of("rope.dimension_count"))
        biased = "blk.0.attn_q.bias" in self.file.tensors
        return {
            **vocabulary,
            **(_WINDOWLESS if architecture in ("qwen2", "qwen3") else {}),
            "hidden_size": of("embedding_length"),
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": of("attention.head_count_kv", heads),
            "head_dim": kept,
            "intermediate_size": of("feed_forward_length"),
            "max_position_embeddings": of("context_length"),
            "rms_norm_eps": of("attention.layer_norm_rms_epsilon", 1e-6),
            "attention_bias": biased and architecture != "qwen2",
            "rope_parameters": self._rope(of, kept),
        }

    def _rope(self, of: Callable[..., Any], d_head: Any) -> dict[str, Any]:
        """Base and scaling of the rotations."""
        base, rotated = of("rope.freq_base", 10_000.0), of("rope.dimension_count")
        if rotated is not None and rotated != d_head:
            raise self._error(f"rotates {rotated} of {d_head} numbers of a head, which is not supported")
        kind, factor = of("rope.scaling.type"), of("rope.scaling.factor", 1.0)
        if _FACTORS in self.file.tensors:
            return {"rope_theta": base} | self._long_context(d_head, base)
        if kind in (None, "none") or factor == 1:
            return {"rope_theta": base}
        if kind == "linear":
            return {"rope_theta": base, "rope_type": "linear", "factor": factor}
        raise self._error(f"scales its rotations by {str(kind)[:40]!r}; linear and LLaMA 3.1's can be read")

    def _long_context(self, d_head: int, base: float) -> dict[str, Any]:
        """LLaMA 3.1's scaling, whose factors alone the file has."""
        if self.file.tensors[_FACTORS].size > _LARGEST_FACTORS:
            raise self._error(f"has {_FACTORS} of {size(self.file.tensors[_FACTORS].size)}, which cannot be")
        stated = self.file.read(_FACTORS).flatten()
        factor = float(stated.max())
        if len(stated) * 2 == d_head and 1 <= factor <= 1e6:
            scaling = replace(_LONG_CONTEXT, factor=factor)
            expected = rope_frequencies(d_head, base) / rope_frequencies(d_head, base, scaling)
            if torch.allclose(stated, expected.float(), rtol=1e-3):
                return {
                    "rope_type": "llama3",
                    "factor": factor,
                    "low_freq_factor": scaling.low_freq,
                    "high_freq_factor": scaling.high_freq,
                    "original_max_position_embeddings": scaling.original_len,
                }
        raise self._error(f"has {_FACTORS} that are not those of LLaMA 3.1")

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self.path} {what}")
