"""A GGUF file as a checkpoint of one of the families: its settings and names in the words of Hugging Face's files.

llama.cpp's converter writes the files, and changes some tensors on the way; here this is undone: rows of q and k of
LLaMA are put back in their order (it interleaves the two halves of every rotation), Gemma's scales lose the 1 that was
added, heads of Qwen3.5's delta rule stand by their keys again, and GPT-2's matrices are turned again.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tfcore.config import LIMITS
from tfcore.files import CheckpointError, size
from tfcore.loading.families.config_values import FULL, SLIDING, short
from tfcore.loading.families.llama import GROWTH
from tfcore.loading.gguf_file import Elsewhere, GgufFile
from tfcore.loading.gguf_kinds import (
    ALONE,
    BARE,
    CONVOLVED,
    FACTORS,
    FALCON_OF_TWO_NORMS,
    IN_ROWS,
    KEYS_OF_LATENT,
    KINDS,
    LONG,
    MIXTURE_OF_LLAMAS,
    OF_PICTURES,
    OFF,
    RATES,
    RENORMALISED,
    SEEING,
    SHARED_GATE,
    SHORT,
    SILENT,
    VALUES_OF_LATENT,
    WITHOUT_WINDOW,
    XIELU,
    GgufKind,
)
from tfcore.part_configs import RopeScaling
from tfcore.positions import rope_frequencies

_LARGEST_FACTORS = 100_000  # bytes; LLaMA 3.1 has 64 numbers
_LONG_CONTEXT = RopeScaling(kind="llama3", original_len=8192, low_freq=1.0, high_freq=4.0)  # LLaMA 3.1 and 3.2
MOST_EXPERTS = 4_096  # of a layer
MOST_PARTS = 200
PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")  # what llama.cpp calls the files of a model that it split


def _values_beside(keys: str) -> str:
    """The tensor that makes values of the latents that this one makes keys of."""
    return keys.removesuffix(KEYS_OF_LATENT) + VALUES_OF_LATENT


def is_later_part(path: Path) -> bool:
    """Whether a file is named as one of several of a model, and not the first, by which it is opened."""
    named = PART.fullmatch(path.name)
    return named is not None and int(named[2]) != 1


def gguf_in(place: Path) -> Path | None:
    """The GGUF file that a model is in: the place itself, or the only one in a folder without config.json.

    Raises:
        CheckpointError: there are several.
    """
    if not place.is_dir():
        return place
    if (place / "config.json").exists():
        return None
    ggufs = sorted(place.glob("*.gguf"))
    parts = [PART.fullmatch(path.name) for path in ggufs]
    if len(ggufs) > 1 and all(part and part[1] == ggufs[0].name[: part.end(1)] for part in parts):
        return ggufs[0]
    if len(ggufs) > 1:
        raise CheckpointError(f"{place} has {len(ggufs)} GGUF files; name the one to open")
    return ggufs[0] if ggufs else None


class GgufWeights:
    """The tensors of a GGUF file by the names of its family; the same methods as tfcore.loading.weights.Weights.

    Args:
        path: of the file, or of the first of several, which lie beside it.
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
            self._join_parts()
            self._behind = self._blocks_behind()
            self._kind = self._known()
            self._theirs = {
                ours: there
                for name in self.file.tensors
                if name not in self._kind.factors and not self.file.is_beside(name)
                for ours, there in self._renamed(name)
            } | self._learned()
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
        return {name: self._shape(name) for name in self._theirs}

    def check_numbers(self, names: list[str]) -> None:
        """All kinds that can be read are floating-point numbers."""

    def is_float16(self, name: str) -> bool:
        """Whether the numbers of a tensor are in float16."""
        there = self._theirs[name][0]
        return there not in XIELU and self.file.tensors[there].kind.name == "F16"

    def read(self, name: str) -> Tensor:
        """The numbers of one tensor, in float32."""
        there, expert = self._theirs[name]
        if there in XIELU:
            return torch.from_numpy(np.array(self.file.settings[there], np.float32))[expert].reshape(1)
        tensor = self.file.read(there, expert)
        if there.endswith(KEYS_OF_LATENT):
            return torch.cat((tensor.mT, self.file.read(_values_beside(there))), dim=1).flatten(0, 1)
        if self._kind.tiled and "linear_attn." in name and not name.endswith("norm.weight"):
            tensor = self._by_key(name, tensor)
        if name.endswith(SHARED_GATE):
            return tensor.reshape(1, -1)
        if name.endswith(CONVOLVED):
            return tensor[:, None]
        if name.endswith(IN_ROWS):
            tensor = tensor.flatten()
            return (-tensor).log() if name.endswith(RATES) else tensor
        if self._kind.interleaved and (part := re.search(r"(?:self_attn|mixer)\.([qk])_proj\.", name)):
            heads = self.values["num_attention_heads" if part[1] == "q" else "num_key_value_heads"]
            pairs = tensor.unflatten(0, (heads, -1, 2))  # (head, pair, half, ...)
            return pairs.transpose(1, 2).flatten(0, 2)
        if self._kind.added and name.endswith("norm.weight") and "linear_attn." not in name:
            return tensor - 1
        if self._kind.by_head and name.endswith(self._kind.by_head):
            heads = self.values["num_attention_heads"]
            groups = self.values.get("num_kv_heads", heads)
            d_head = len(tensor) // (heads + 2 * groups)
            parts = tensor.split([heads * d_head, groups * d_head, groups * d_head])
            return torch.cat([part.unflatten(0, (groups, -1, d_head)) for part in parts], dim=1).flatten(0, 2)
        return tensor.T if self._is_turned(name) else tensor

    def _by_key(self, name: str, tensor: Tensor) -> Tensor:
        """Rows of the delta rule's values, or columns of the matrix behind it, with all heads of a key together."""
        heads, keys = (self.values[f"linear_num_{one}_heads"] for one in ("value", "key"))
        before = 2 * keys * self.values["linear_key_head_dim"]  # rows of queries and keys
        skipped = before if name.endswith(("in_proj_qkv.weight", *CONVOLVED)) else 0
        dim = 1 if name.endswith("out_proj.weight") else 0
        if tensor.ndim <= dim or (n := tensor.shape[dim] - skipped) < 1 or n % heads:
            raise self._error(f"has {name} of the shape {tuple(tensor.shape)}, and {heads} heads of values")
        first, values = tensor.split((skipped, n), dim)
        by_key = values.unflatten(dim, (heads // keys, keys, -1)).transpose(dim, dim + 1).flatten(dim, dim + 2)
        return torch.cat((first, by_key), dim)

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal; of a file elsewhere, whether they can be."""
        if self.file.elsewhere is not None:
            first, second = (self.file.tensors[self._theirs[name][0]] for name in (one, other))
            return (first.shape, first.kind) == (second.shape, second.kind)
        return torch.equal(self.read(one), self.read(other))

    def _shape(self, name: str) -> tuple[int, ...]:
        there, expert = self._theirs[name]
        if there in XIELU:
            return (1,)
        shape = self.file.tensors[there].shape[expert is not None :]
        if name.endswith(SHARED_GATE):
            return (1, math.prod(shape))
        if name.endswith(CONVOLVED):
            return (shape[0], 1, *shape[1:])
        if name.endswith(IN_ROWS):
            return (math.prod(shape),)
        if there.endswith(KEYS_OF_LATENT):
            heads, latent, own = shape
            return (heads * (own + self.file.tensors[_values_beside(there)].shape[1]), latent)
        return shape[::-1] if self._is_turned(name) else shape

    def _is_turned(self, name: str) -> bool:
        return name.endswith(self._kind.turned) if self._kind.turned else False

    def _join_parts(self) -> None:
        """Open the other parts of a model that was split, which lie beside the first."""
        said, named = self.file.settings, PART.fullmatch(self.path.name)
        number, count = said.number("split.no", int(named[2]) - 1 if named else 0), said.number("split.count", 1)
        count = max(count, int(named[3])) if named else count
        if count == 1:
            return
        what = f"is part {number + 1} of {count} of a model that was split"
        if named is None or self.file.elsewhere is not None or count > MOST_PARTS:
            raise self._error(
                f"{what}; put all parts, named as llama.cpp names them, into one folder and open the first, or join "
                "them with llama.cpp's `llama-gguf-split --merge`"
            )
        if number != 0 or int(named[2]) != 1:
            raise self._error(f"{what}; open the first, {named[1]}-00001-of-{named[3]}.gguf")
        for part in range(2, count + 1):
            path = self.path.with_name(f"{named[1]}-{part:05}-of-{named[3]}.gguf")
            if not path.is_file():
                raise self._error(f"{what}, and {path.name} is not beside it")
            if path.resolve().parent != self.path.resolve().parent:
                raise self._error(f"{what}, and {path.name} is a link that leads out of its folder")
            self._join(path, part - 1)

    def _join(self, path: Path, number: int) -> None:
        other = GgufFile(path)
        try:
            if other.settings.number("split.no", number) != number:
                raise CheckpointError(f"{path} says that it is another part than its name says")
            self.file.join(other)
        except BaseException:
            other.__exit__(None, None, None)
            raise

    def _known(self) -> GgufKind:
        name = self.file.settings.text("general.architecture")
        if name not in KINDS:
            raise self._error(f"holds a model of the architecture {str(name)[:40]!r}; {', '.join(KINDS)} can be read")
        if name == "falcon" and self._has("attn_norm_2.weight"):
            return FALCON_OF_TWO_NORMS
        return MIXTURE_OF_LLAMAS if name == "llama" and self._experts else KINDS[str(name)]

    @property
    def _experts(self) -> int:
        """How many experts a layer has."""
        name = self.file.settings.text("general.architecture")
        stated = self.file.settings.number(f"{name}.expert_count", 0)
        if not isinstance(stated, int) or not 0 <= stated <= MOST_EXPERTS:
            raise self._error(f"has {short(stated)} experts in a layer; up to {MOST_EXPERTS:,} can be read")
        return stated

    def _blocks_behind(self) -> range:
        """Numbers of the blocks behind those of the model, which predict further tokens: llama.cpp counts them with the
        others, and transformers leaves them out, as is done here."""
        said, name = self.file.settings, self.file.settings.text("general.architecture")
        blocks, further = (said.number(f"{name}.{key}", 0) for key in ("block_count", "nextn_predict_layers"))
        most = LIMITS["n_layers"][1]
        if not isinstance(blocks, int) or not isinstance(further, int) or not 0 <= further <= blocks <= most:
            said_of_them = f"{short(blocks)} blocks, {short(further)} of which predict further tokens"
            raise self._error(f"has {said_of_them}; up to {most:,} blocks can be read")
        return range(blocks - further, blocks)

    def _renamed(self, name: str) -> Iterator[tuple[str, tuple[str, int | None]]]:
        """A tensor's name in the family's files, or those of its parts; and which part of which tensor each is."""
        module, _, ending = name.rpartition(".")
        number = re.match(r"blk\.(\d{1,6})\.", name)
        if number and int(number[1]) in self._behind:
            return
        bare = f"blk.*.{ending}" if number and name.count(".") == 2 and ending in BARE else ""
        if bare in self._kind.names:
            vector = "" if ending.startswith("ssm_") else ".weight"
            yield self._kind.names[bare].replace("*", number[1] if number else "") + vector, (name, None)
            return
        pattern = re.sub(r"^blk\.\d+\.", "blk.*.", module)
        if pattern not in self._kind.names or ending not in ("weight", "bias"):
            raise self._error(f"holds the tensor {name[:80]!r}, which models of its architecture do not have")
        ours = self._kind.names[pattern].replace("*", number[1] if number else "")
        if name.endswith((KEYS_OF_LATENT, VALUES_OF_LATENT)):
            self._check_latent(name)
        if not ours:
            return
        ours = ours if ours.endswith(f"_{ending}") else f"{ours}.{ending}"
        if "#" not in ours:
            yield ours, (name, None)
            return
        shape = self.file.tensors[name].shape
        if len(shape) != (3 if ending == "weight" else 2) or shape[0] != self._experts:
            raise self._error(f"has {name[:80]} of the shape {shape}, and {self._experts:,} experts in a layer")
        yield from ((ours.replace("#", str(expert)), (name, expert)) for expert in range(shape[0]))

    def _learned(self) -> dict[str, tuple[str, int | None]]:
        """Apertus's numbers of xIELU as tensors of the family: which number of which list each is."""
        if self._kind.family != "apertus":
            return {}
        n, found = self._behind.start, dict[str, tuple[str, int | None]]()
        for key, ours in XIELU.items():
            listed = self.file.settings.listed(key)
            if not isinstance(listed, np.ndarray) or listed.shape != (n,) or not np.isfinite(listed).all():
                raise self._error(f"has no list of {n} numbers, one for each layer, in {key}")
            found |= {ours.replace("*", str(layer)): (key, layer) for layer in range(n)}
        return found

    def _check_latent(self, name: str) -> None:
        """Refuse what makes keys, or values, of a latent, unless both are there, alike for all heads."""
        layer = name.rpartition("attn_")[0]
        keys, values = (self.file.tensors.get(f"{layer}{one}") for one in (KEYS_OF_LATENT, VALUES_OF_LATENT))
        if keys is None or values is None or f"{layer}attn_kv_b.weight" in self.file.tensors:
            raise self._error(f"holds {name[:80]!r}, without what goes with it or with what stands in its place")
        if len(keys.shape) != 3 or len(values.shape) != 3 or keys.shape[:2] != (values.shape[0], values.shape[2]):
            raise self._error(f"has keys of {keys.shape} and values of {values.shape} of the same latents")

    def _settings(self) -> dict[str, Any]:
        """The settings as config.json would have them."""
        architecture = str(self.file.settings["general.architecture"])
        table = self.file.tensors.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise self._error("lacks the matrix token_embd.weight")

        asked = {"rope.scaling.type", *(() if self._experts else ("expert_count",))}
        asked |= {*(OF_PICTURES if architecture in SEEING else ())}

        def of(key: str, *default: Any) -> Any:
            """A setting, a flag or a list where the default is one; one without a default must be there."""
            asked.add(key)
            said = self.file.settings
            kinds: dict[type, Callable[..., Any]] = {bool: said.flag, list: said.listed, str: said.text}
            read = kinds.get(type(default[0]), said.number) if default else said.number
            value = read(f"{architecture}.{key}", *default)
            if value is None and not default:
                raise self._error(f"lacks the setting {architecture}.{key}")
            return value

        own = {
            **dict.fromkeys(("qwen2moe", "qwen3moe", "qwen3vlmoe", "olmoe"), self._mixture),
            "gpt-oss": self._oss,
            "gpt2": self._gpt2,
            "starcoder": self._starcoder,
            "bloom": self._bloom,
            "mpt": self._mpt,
            "falcon": self._falcon,
            "gptneox": self._neox,
            "phi2": self._phi,
            "phi3": self._phi3,
            "starcoder2": self._starcoder2,
            "granite": self._granite,
            "granitemoe": self._granite_moe,
            "granitehybrid": self._granite_hybrid,
            "mistral3": self._ministral3,
            "glm4moe": self._glm4_moe,
            "ernie4_5": self._ernie,
            "stablelm": self._stablelm,
            "command-r": self._cohere,
            "cohere2": self._cohere2,
            "arcee": self._arcee,
            "nemotron": self._nemotron,
            "exaone4": self._exaone4,
            "glm4": self._partly_rotated,
            "deepseek2": self._deepseek,
            "lfm2": self._lfm2,
            "lfm2moe": self._lfm2_moe,
            "mamba2": self._mamba2,
            "falcon-h1": self._falcon_h1,
            **dict.fromkeys(("qwen3next", "qwen35", "qwen35moe"), self._delta),
            **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), self._nemotron_h),
            "olmo": self._olmo,
            "olmo2": self._olmo2,
            "gemma2": self._gemma2,
            "gemma3": self._gemma3,
        }
        if self._kind is MIXTURE_OF_LLAMAS:
            own = {"llama": self._mixture}
        values = own.get(architecture, self._llama)(of)
        self._check_read(architecture, asked)
        return {
            "vocab_size": table.shape[0],
            "model_type": self._kind.family,
            "bos_token_id": self.file.settings.number("tokenizer.ggml.bos_token_id"),
            "tie_word_embeddings": "output.weight" not in self.file.tensors or architecture == "gpt2",
            **values,
        }

    def _check_read(self, architecture: str, asked: set[str]) -> None:
        """Refuse a setting of the model that nothing here asks for, unless it changes no number."""
        for name, value in self.file.settings.items():
            before, _, key = name.partition(".")
            if before != architecture or key in asked or key in SILENT:
                continue
            if not isinstance(value, int | float | str) or value not in OFF.get(key, ()):
                shown = short(value) if isinstance(value, int | float | str) else "a list"
                raise self._error(f"has {name[:80]}={shown}, which may change its numbers and cannot be read")

    def _gpt2(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {
            "n_embd": of("embedding_length"),
            "n_layer": of("block_count"),
            "n_head": of("attention.head_count"),
            "n_inner": of("feed_forward_length"),
            "n_positions": of("context_length"),
            "layer_norm_epsilon": of("attention.layer_norm_epsilon"),
        }

    def _starcoder(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {**self._gpt2(of), "num_key_value_heads": of("attention.head_count_kv", 1)}

    def _bloom(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {
            "hidden_size": of("embedding_length"),
            "n_layer": of("block_count"),
            "num_attention_heads": self._ungrouped(of),
            "n_inner": of("feed_forward_length"),
            "seq_length": of("context_length"),
            "layer_norm_epsilon": of("attention.layer_norm_epsilon"),
        }

    def _mpt(self, of: Callable[..., Any]) -> dict[str, Any]:
        width, slope = of("embedding_length"), of("attention.max_alibi_bias", 0.0)
        return {
            "d_model": width,
            "n_layers": of("block_count"),
            "n_heads": self._ungrouped(of),
            "expansion_ratio": of("feed_forward_length") / width,
            "max_seq_len": of("context_length"),
            "layer_norm_epsilon": of("attention.layer_norm_epsilon"),
            "attn_config": {
                "alibi": slope > 0,
                "alibi_bias_max": slope,
                "clip_qkv": of("attention.clamp_kqv", 0.0) or None,
            },
        }

    def _ungrouped(self, of: Callable[..., Any]) -> int:
        """How many heads there are, each with keys and values of its own."""
        heads = of("attention.head_count")
        if (keys := of("attention.head_count_kv", heads)) != heads:
            raise self._error(f"has {keys} heads of keys for {heads} of queries, which is not supported")
        return int(heads)

    def _falcon(self, of: Callable[..., Any]) -> dict[str, Any]:
        if (layout := of("tensor_data_layout", "jploski")) != "jploski":
            raise self._error(f"has rows of queries, keys and values in the order {short(layout)}, which is not known")
        width, heads, groups = of("embedding_length"), of("attention.head_count"), of("attention.head_count_kv", 1)
        norms = 2 if self._kind is FALCON_OF_TWO_NORMS else 1
        return {
            "hidden_size": width,
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "num_kv_heads": groups,
            "ffn_hidden_size": of("feed_forward_length"),
            "max_position_embeddings": of("context_length"),
            "layer_norm_epsilon": of("attention.layer_norm_epsilon"),
            "rope_parameters": self._rope(of, width // heads),
            "new_decoder_architecture": norms == 2 or groups != 1,
            "num_ln_in_parallel_attn": norms,
        }

    def _neox(self, of: Callable[..., Any]) -> dict[str, Any]:
        width, heads = of("embedding_length"), of("attention.head_count")
        rotated = of("rope.dimension_count", width // heads)
        return {
            "hidden_size": width,
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "intermediate_size": of("feed_forward_length"),
            "max_position_embeddings": of("context_length"),
            "layer_norm_eps": of("attention.layer_norm_epsilon"),
            "rotary_pct": rotated / (width // heads),
            "rope_parameters": self._rope(of, rotated),
            "use_parallel_residual": of("use_parallel_residual", True),
            "attention_bias": "blk.0.attn_qkv.bias" in self.file.tensors,
        }

    def _gemma2(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {
            **self._llama(of),
            **self._query_scale(of, largest=46),
            "sliding_window": of("attention.sliding_window", 4096),
            "attn_logit_softcapping": of("attn_logit_softcapping", 50.0),
            "final_logit_softcapping": of("final_logit_softcapping", 30.0),
        }

    def _gemma3(self, of: Callable[..., Any]) -> dict[str, Any]:
        values = self._llama(of)
        local = {"rope_theta": of("rope.freq_base_swa", 10_000.0)}
        return {
            **values,
            **self._query_scale(of, largest=62),
            "sliding_window": of("attention.sliding_window"),
            "sliding_window_pattern": of("attention.sliding_window_pattern", 6),
            "final_logit_softcapping": of("final_logit_softcapping", 0.0) or None,
            "rope_parameters": {FULL: values["rope_parameters"], SLIDING: local},
        }

    def _mixture(self, of: Callable[..., Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
        """LLaMA, or what has these settings, with experts. That chosen probabilities are made to add up to 1, the file
        does not say: llama.cpp does so in Mixtral, in Qwen 3's, its hybrids and in gpt-oss, alone."""
        values, tensors = self._llama(of) if values is None else values, self.file.tensors
        matrix = next((one for name, one in tensors.items() if name.endswith("ffn_up_exps.weight")), None)
        if matrix is None or not self._experts:
            raise self._error("has no experts, which models of its architecture have")
        shared = next((one.shape[0] for name, one in tensors.items() if name.endswith("ffn_up_shexp.weight")), 0)
        family, width = self._kind.family, of("expert_feed_forward_length", matrix.shape[1])
        plain = [i for i in range(values["num_hidden_layers"]) if f"blk.{i}.ffn_up_exps.weight" not in tensors]
        return {
            **values,
            **({"intermediate_size": width, "sliding_window": None} if family in ("mixtral", "olmoe") else {}),
            "num_local_experts" if family in ("mixtral", "gpt_oss") else "num_experts": of("expert_count"),
            "num_experts_per_tok": of("expert_used_count"),
            "moe_intermediate_size": width,
            "shared_expert_intermediate_size": of("expert_shared_feed_forward_length", shared),
            "norm_topk_prob": family in RENORMALISED,
            "mlp_only_layers": plain,
        }

    def _deepseek(self, of: Callable[..., Any]) -> dict[str, Any]:
        """DeepSeek-V2 or V3. Heads are as wide as the keys and values that are made of a latent; where these are not
        apart in the file, it is older and says it under other names."""
        heads, rotated, latent = of("attention.head_count"), of("rope.dimension_count"), of("attention.kv_lora_rank")
        apart = self._has(KEYS_OF_LATENT)
        key, value = (of(f"attention.{one}_length{'_mla' if apart else ''}") for one in ("key", "value"))
        kept = {"head_count_kv": 1, "key_length": latent + rotated, "value_length": latent}
        for name, usual in kept.items() if apart else [("head_count_kv", heads)]:
            if (said := of(f"attention.{name}", usual)) != usual:
                raise self._error(f"has {name}={said}, where its latents have {usual}")
        sigmoid = self._gating(of, 1, 1, 2)
        chosen = self._chosen_experts(of)
        in_groups = "group_limited_greedy" if chosen["n_group"] > 1 else "greedy"
        return {
            **self._deepseek_rope(of, rotated),
            **chosen,
            "model_type": "deepseek_v3" if sigmoid == 2 else "deepseek_v2",
            "hidden_size": of("embedding_length"),
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": heads,
            "intermediate_size": of("feed_forward_length"),
            "max_position_embeddings": of("context_length"),
            "rms_norm_eps": of("attention.layer_norm_rms_epsilon"),
            "q_lora_rank": of("attention.q_lora_rank") if self._has("attn_q_a.weight") else None,
            "kv_lora_rank": latent,
            "qk_rope_head_dim": rotated,
            "qk_nope_head_dim": key - rotated,
            "v_head_dim": value,
            "first_k_dense_replace": of("leading_dense_block_count", 0),
            "topk_method": "noaux_tc" if sigmoid == 2 else in_groups,
        }

    def _gating(self, of: Callable[..., Any], usual: int, *known: int) -> int:
        """What is made of the scores of experts: 1 is the softmax, 2 are sigmoids.

        Args:
            usual: where the file does not say it.
            known: what models of this architecture may have.
        """
        if (said := of("expert_gating_func", usual) or usual) not in known:
            names = " and ".join(f"{one} ({('softmax', 'sigmoid')[one - 1]})" for one in known)
            raise self._error(f"chooses experts by the function {short(said)}; {names} can be read")
        return int(said)

    def _glm4_moe(self, of: Callable[..., Any]) -> dict[str, Any]:
        of("nextn_predict_layers", 0)
        self._gating(of, 2, 2)
        return {
            **self._partly_rotated(of),
            **self._chosen_experts(of),
            "num_hidden_layers": self._behind.start,
            "first_k_dense_replace": of("leading_dense_block_count", 0),
            "use_qk_norm": self._has("attn_q_norm.weight"),
        }

    def _deepseek_rope(self, of: Callable[..., Any], rotated: int) -> dict[str, Any]:
        """Rotations, which may be scaled by YaRN; a tenth of what sharpens the scores then stands in the file."""
        kind = self.file.settings.text("deepseek2.rope.scaling.type", "linear")
        factor = of("rope.scaling.factor", 1.0) or 1.0
        if kind != "yarn" or factor == 1:
            of("rope.scaling.yarn_log_multiplier", 0.0)
            return {"rope_parameters": self._rope(of, rotated)}
        if not (sharper := of("rope.scaling.yarn_log_multiplier", 0.0)):
            raise self._error("scales its rotations by YaRN and does not say what that does to scores; convert it anew")
        both = {"mscale": 10 * sharper, "mscale_all_dim": 10 * sharper}
        yarn = {**self._yarn(of, factor), **both}
        return {"rope_parameters": {"rope_theta": of("rope.freq_base", 10_000.0), **yarn}}

    def _oss(self, of: Callable[..., Any]) -> dict[str, Any]:
        values = self._mixture(of)
        if of("attention.sliding_window_pattern", 2) != 2:
            raise self._error("has windows in other layers than every second, which is not supported")
        base = values["rope_parameters"]["rope_theta"]
        if of("rope.freq_base_swa", base) != base:
            raise self._error("rotates in layers with a window otherwise than in others, which is not supported")
        return {
            **values,
            "intermediate_size": values["moe_intermediate_size"],
            "sliding_window": of("attention.sliding_window"),
        }

    def _lfm2(self, of: Callable[..., Any]) -> dict[str, Any]:
        """LFM2, whose layers with keys are those that attend."""
        counts = self._key_heads(of)
        heads, d_head = of("attention.head_count"), of("attention.key_length", None)
        of("attention.value_length", d_head)
        width = of("embedding_length")
        return {
            "hidden_size": width,
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": max(counts, default=0) or heads,
            "head_dim": d_head,
            "intermediate_size": of("feed_forward_length"),
            "block_auto_adjust_ff_dim": False,
            "max_position_embeddings": of("context_length"),
            "norm_eps": of("attention.layer_norm_rms_epsilon"),
            "conv_L_cache": of("shortconv.l_cache"),
            "layer_types": [FULL if count else "conv" for count in counts],
            "rope_parameters": self._rope(of, d_head or width // (heads or 1)),
        }

    def _lfm2_moe(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Its mixture. llama.cpp makes chosen probabilities add up to 1 whatever the file says, and scales nothing."""
        self._gating(of, 2, 2)
        return {
            **self._lfm2(of),
            "num_experts": of("expert_count"),
            "num_experts_per_tok": of("expert_used_count"),
            "moe_intermediate_size": of("expert_feed_forward_length"),
            "num_dense_layers": of("leading_dense_block_count", 0),
            "use_expert_bias": self._has("exp_probs_b.bias"),
            "norm_topk_prob": True,
            "routed_scaling_factor": 1.0,
        }

    def _key_heads(self, of: Callable[..., Any]) -> list[int]:
        """Heads of keys of each layer: one number, and 0 where a layer does not attend."""
        counts = of("attention.head_count_kv", [])
        if not isinstance(counts, np.ndarray) or counts.dtype.kind not in "iu" or len({*counts.tolist()} - {0}) > 1:
            raise self._error("has heads of keys that are not one whole number, or 0, for each layer")
        return [int(count) for count in counts]

    def _states(self, of: Callable[..., Any]) -> tuple[int, int, dict[str, Any]]:
        """Heads of a state, the width of their values, and the names of Mamba-2 for the rest."""
        heads, values = of("ssm.time_step_rank"), of("ssm.inner_size")
        if not all(isinstance(one, int) and one > 0 for one in (heads, values)) or values % heads:
            raise self._error(f"has states of {short(values)} values in {short(heads)} heads, which cannot be")
        state = {"n_groups": of("ssm.group_count"), "state_size": of("ssm.state_size")}
        return heads, values // heads, state | {"conv_kernel": of("ssm.conv_kernel")}

    def _mamba2(self, of: Callable[..., Any]) -> dict[str, Any]:
        for name in ("context_length", "feed_forward_length", "attention.head_count"):
            of(name, 0)  # none of which means anything
        heads, d_head, state = self._states(of)
        width = of("embedding_length")
        return {
            **state,
            "hidden_size": width,
            "num_hidden_layers": of("block_count"),
            "num_heads": heads,
            "head_dim": d_head,
            "expand": heads * d_head / (width or 1),
            "layer_norm_epsilon": of("attention.layer_norm_rms_epsilon"),
            "use_bias": self._has("ssm_in.bias"),
            "use_conv_bias": self._has("ssm_conv1d.bias"),
        }

    def _falcon_h1(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Falcon-H1, whose factors are multiplied into the file's weights; llama.cpp normalises after the gate."""
        state = self._mamba(of)
        return {
            **self._llama(of),
            **state,
            "mlp_bias": self._has("ffn_up.bias"),
            "mamba_d_ssm": state["mamba_n_heads"] * state["mamba_d_head"],
            "projectors_bias": state["mamba_proj_bias"],
            "mamba_rms_norm": self._has("ssm_norm.weight"),
            "mamba_norm_before_gate": False,
        }

    def _mamba(self, of: Callable[..., Any]) -> dict[str, Any]:
        """The states of hybrids that have them beside attention, or in some layers."""
        heads, d_head, state = self._states(of)
        return {
            "mamba_n_heads": heads,
            "mamba_d_head": d_head,
            "mamba_n_groups": state["n_groups"],
            "mamba_d_state": state["state_size"],
            "mamba_d_conv": state["conv_kernel"],
            "mamba_conv_bias": self._has("ssm_conv1d.bias"),
            "mamba_proj_bias": self._has("ssm_in.bias"),
        }

    def _delta(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Qwen3-Next and Qwen3.5. Which layers attend, their tensors say."""
        heads, d_value, state = self._states(of)
        of("full_attention_interval", 4)
        of("nextn_predict_layers", 0)
        values = self._partly_rotated(of)
        kinds = [
            "linear_attention" if f"blk.{i}.ssm_conv1d.weight" in self.file.tensors else FULL
            for i in range(self._behind.start)
        ]
        values |= {"num_hidden_layers": self._behind.start, "layer_types": kinds}
        return {
            **(self._mixture(of, values) if self._experts else values),
            "linear_num_value_heads": heads,
            "linear_value_head_dim": d_value,
            "linear_num_key_heads": state["n_groups"],
            "linear_key_head_dim": state["state_size"],
            "linear_conv_kernel_dim": state["conv_kernel"],
        }

    def _nemotron_h(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Nemotron-H and Nemotron 3. What a layer is, its tensors say. Nothing is rotated, whatever is said about it;
        how small a step of a state may be is not said, and is taken as it is by default in transformers."""
        of("block_count")
        for name in ("rope.dimension_count", "rope.freq_base", "nextn_predict_layers"):
            of(name, 0)
        of("feed_forward_length", [])
        heads, d_head, state = self._states(of)
        queries, width, tensors = of("attention.head_count"), of("attention.key_length"), self.file.tensors
        kinds = [
            next((kind for there, kind in ALONE.items() if f"blk.{i}.{there}.weight" in tensors), None)
            for i in range(self._behind.start)
        ]
        values = {
            "hidden_size": of("embedding_length"),
            "layers_block_type": kinds,
            "num_attention_heads": queries,
            "num_key_value_heads": max(self._key_heads(of), default=0) or queries,
            "head_dim": width,
            "attention_bias": self._has("attn_q.bias"),
            "max_position_embeddings": of("context_length"),
            "layer_norm_epsilon": of("attention.layer_norm_epsilon", of("attention.layer_norm_rms_epsilon", None)),
            "mlp_bias": self._has("ffn_up.bias"),
            "mamba_num_heads": heads,
            "mamba_head_dim": d_head,
            "ssm_state_size": state["state_size"],
            "n_groups": state["n_groups"],
            "conv_kernel": state["conv_kernel"],
            "use_conv_bias": self._has("ssm_conv1d.bias"),
            **dict.fromkeys(("use_bias", "mamba_proj_bias"), self._has("ssm_in.bias")),
        }
        if (said := of("attention.value_length", width)) != width:
            raise self._error(f"has values of {said} and keys of {width} numbers in a head, which is not supported")
        if "mlp" in kinds:
            values["intermediate_size"] = tensors[f"blk.{kinds.index('mlp')}.ffn_up.weight"].shape[0]
        return values | (self._experts_beside_one(of) if self._experts else {})

    def _experts_beside_one(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Nemotron 3's: chosen as DeepSeek-V3's are, and one that is shared, of a width of its own."""
        return {
            **self._chosen_experts(of),
            "moe_shared_expert_intermediate_size": of("expert_shared_feed_forward_length"),
            "moe_latent_size": of("moe_latent_size", 0) or None,
        }

    def _chosen_experts(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Experts in groups, as DeepSeek's are, and shared ones."""
        groups = of("expert_group_count", 1) or 1
        return {
            "n_routed_experts": of("expert_count"),
            "num_experts_per_tok": of("expert_used_count"),
            "moe_intermediate_size": of("expert_feed_forward_length"),
            "n_shared_experts": of("expert_shared_count"),
            "norm_topk_prob": of("expert_weights_norm", False),
            "routed_scaling_factor": of("expert_weights_scale", 0.0) or 1.0,
            "n_group": groups,
            "topk_group": of("expert_group_used_count", groups) or groups,
        }

    def _query_scale(self, of: Callable[..., Any], largest: int) -> dict[str, Any]:
        """By the width of a head; of the largest Gemma, which is known by its layers, by that of a share of the stream,
        as in llama.cpp: the file does not say it."""
        share = of("embedding_length") // of("attention.head_count")
        return {"query_pre_attn_scalar": share if of("block_count") == largest else of("attention.key_length")}

    def _partly_rotated(self, of: Callable[..., Any], eps: str = "") -> dict[str, Any]:
        """LLaMA's, a part of each head rotated.

        Args:
            eps: their name of LayerNorm's; "" where norms are RMSNorm.
        """
        d_head = of("attention.key_length", of("embedding_length") // of("attention.head_count"))
        rotated = of("rope.dimension_count", d_head)
        rope = {"partial_rotary_factor": rotated / d_head} | self._rope(of, rotated)
        return self._llama(of, d_head, rope, eps)

    def _phi(self, of: Callable[..., Any]) -> dict[str, Any]:
        return self._partly_rotated(of, "layer_norm_eps")

    def _starcoder2(self, of: Callable[..., Any]) -> dict[str, Any]:
        values = self._partly_rotated(of, "norm_epsilon")
        return {**values, "use_bias": self._has("attn_q.bias")}  # llama.cpp runs it without a window

    def _granite(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Granite. Granite 4 whose layers all attend is called so, too, and has settings of states that it has not."""
        for name in ("conv_kernel", "inner_size", "state_size", "time_step_rank", "group_count"):
            of(f"ssm.{name}", 0)
        stated = self.file.settings.get(f"{self.file.settings['general.architecture']}.attention.head_count_kv")
        listed = isinstance(stated, list | np.ndarray)
        values = self._llama(of, keys=max(self._key_heads(of), default=0) or None if listed else None)
        rotated = of("rope.scaling.finetuned", True)
        if not rotated and self._kind.family != "granitemoehybrid":
            raise self._error("rotates nothing, which is not supported")
        shared = of("expert_shared_feed_forward_length", 0)
        if shared and self._kind.family == "granitemoe":
            values |= {"model_type": "granitemoeshared", "shared_intermediate_size": shared}
        d_head = values["head_dim"] or values["hidden_size"] // values["num_attention_heads"]
        return {
            **values,
            "mlp_bias": self._has("ffn_up.bias"),
            "attention_multiplier": of("attention.scale", 0.0) or d_head**-0.5,
            "embedding_multiplier": of("embedding_scale", 0.0) or 1.0,
            "residual_multiplier": of("residual_scale", 0.0) or 1.0,
            "logits_scaling": of("logit_scale"),
            "position_embedding_type": "rope" if rotated else "nope",
        }

    def _granite_moe(self, of: Callable[..., Any]) -> dict[str, Any]:
        experts = {"num_local_experts": of("expert_count"), "num_experts_per_tok": of("expert_used_count")}
        return {**self._granite(of), **experts}

    def _granite_hybrid(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Granite 4. What a layer has, its tensors say; without experts, the shared one is the feed-forward layer."""
        values, state, tensors = self._granite(of), self._mamba(of), self.file.tensors
        shared = tensors.get(f"blk.0.ffn_up{'_shexp' if self._experts else ''}.weight")
        if shared is None:
            raise self._error("has no shared expert, which models of its architecture have")
        states = [f"blk.{i}.ssm_conv1d.weight" in tensors for i in range(values["num_hidden_layers"])]
        return {
            **values,
            **state,
            "mamba_expand": state["mamba_n_heads"] * state["mamba_d_head"] // (values["hidden_size"] or 1),
            "layer_types": ["linear_attention" if one else FULL for one in states],
            "shared_intermediate_size": shared.shape[0],
            "num_local_experts": of("expert_count", 0),
            "num_experts_per_tok": of("expert_used_count", 0),
        }

    def _ministral3(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Ministral 3, and the text models of Mistral Small 3, whose queries are not scaled by their places."""
        values, more = self._llama(of), {GROWTH: of("attention.temperature_scale", 0.0)}
        if sharper := of("rope.scaling.yarn_log_multiplier", 0.0):
            more |= {"mscale": 1.0, "mscale_all_dim": sharper}
        return {**values, "rope_parameters": values["rope_parameters"] | more}

    def _ernie(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {**self._llama(of), "use_bias": self._has("attn_q.bias")}

    def _stablelm(self, of: Callable[..., Any]) -> dict[str, Any]:
        of("use_parallel_residual", True)  # llama.cpp goes by whether there is a norm
        return {
            **self._partly_rotated(of, "layer_norm_eps"),
            "use_qkv_bias": self._has("attn_q.bias"),
            "qk_layernorm": self._has("attn_q_norm.weight"),
            "use_parallel_residual": not self._has("ffn_norm.weight"),
        }

    def _cohere(self, of: Callable[..., Any]) -> dict[str, Any]:
        values = self._partly_rotated(of, "layer_norm_eps")
        return {**values, "logit_scale": of("logit_scale"), "use_qk_norm": self._has("attn_q_norm.weight")}

    def _cohere2(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {**self._cohere(of), "sliding_window": of("attention.sliding_window"), **self._windows(of, 4)}

    def _arcee(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {**self._llama(of), "mlp_bias": self._has("ffn_up.bias")}

    def _nemotron(self, of: Callable[..., Any]) -> dict[str, Any]:
        return {**self._partly_rotated(of, "norm_eps"), "mlp_bias": self._has("ffn_up.bias")}

    def _exaone4(self, of: Callable[..., Any]) -> dict[str, Any]:
        values, window = self._llama(of), of("attention.sliding_window", 0) or None
        return {**values, "sliding_window": window, **(self._windows(of, 4) if window else {})}

    def _windows(self, of: Callable[..., Any], usual: int) -> dict[str, Any]:
        """Which layers have a window: all but each so many-th, or a list with a flag for each layer."""
        key = "attention.sliding_window_pattern"
        stated = self.file.settings.get(f"{self.file.settings['general.architecture']}.{key}")
        if not isinstance(stated, list | np.ndarray):
            return {"sliding_window_pattern": of(key, usual)}
        return {"layer_types": [SLIDING if flag else FULL for flag in of(key, [])]}

    def _has(self, name: str) -> bool:
        """Whether some layer has a tensor."""
        return any(f"blk.{i}.{name}" in self.file.tensors for i in range(self._behind.start))

    def _olmo(self, of: Callable[..., Any]) -> dict[str, Any]:
        values = self._partly_rotated(of, "eps")
        if not math.isclose(values["eps"], 1e-5, rel_tol=1e-3):
            raise self._error(f"adds {values['eps']:g} to variances, where OLMo adds 1e-05")
        return {**values, "clip_qkv": of("attention.clamp_kqv", 0.0) or None}

    def _olmo2(self, of: Callable[..., Any]) -> dict[str, Any]:
        values, window = self._llama(of), of("attention.sliding_window", 0)
        if not window:
            return values
        windows = self._windows(of, 4)
        if windows.get("sliding_window_pattern", 4) != 4:
            raise self._error("has windows in other layers than three of four, which is not supported")
        values |= windows
        local = {"rope_theta": of("rope.freq_base_swa", values["rope_parameters"]["rope_theta"])}
        rotations = {FULL: values["rope_parameters"], SLIDING: local}
        return {**values, "model_type": "olmo3", "sliding_window": window, "rope_parameters": rotations}

    def _phi3(self, of: Callable[..., Any]) -> dict[str, Any]:
        """Rotates a part of each head, and may have LongRoPE's factors."""
        d_head = of("attention.key_length", of("embedding_length") // of("attention.head_count"))
        rotated = of("rope.dimension_count", d_head)
        rope: dict[str, Any] = {"partial_rotary_factor": rotated / d_head}
        if LONG in self.file.tensors or SHORT in self.file.tensors:
            rope |= {"rope_type": "longrope", "rope_theta": of("rope.freq_base", 10_000.0)}
            rope |= {"short_factor": self._listed(SHORT), "long_factor": self._listed(LONG)}
            rope["attention_factor"] = of("rope.scaling.attn_factor", 1.0)
        else:
            rope |= self._rope(of, rotated)
        return {
            **self._llama(of, d_head, rope),
            "sliding_window": of("attention.sliding_window", 0) or None,
            "original_max_position_embeddings": of("rope.scaling.original_context_length", of("context_length")),
        }

    def _listed(self, name: str) -> list[float]:
        """The factors of rotations."""
        if name not in self.file.tensors:
            raise self._error(f"lacks {name}")
        if (taken := self.file.tensors[name].size) > _LARGEST_FACTORS:
            raise self._error(f"has {name} of {size(taken)}, which cannot be")
        return [float(one) for one in self.file.read(name).flatten()]

    def _llama(
        self,
        of: Callable[..., Any],
        d_head: int | None = None,
        rope: dict[str, Any] | None = None,
        eps: str = "",
        keys: int | None = None,
    ) -> dict[str, Any]:
        """LLaMA and those built like it; the width of a head and the rotations are read where they are not given.

        Args:
            eps: their name of LayerNorm's; "" where norms are RMSNorm.
            keys: heads of keys, which are read where they are not given.
        """
        architecture = str(self.file.settings["general.architecture"])
        heads = of("attention.head_count")
        kept = of("attention.key_length", of("rope.dimension_count", None)) if d_head is None else d_head
        if (values := of("attention.value_length", kept)) != kept and kept is not None:
            raise self._error(f"has values of {values} and keys of {kept} numbers in a head, which is not supported")
        biased = self._has("attn_q.bias")
        experts_alone = architecture == "qwen35moe"  # whose settings have no width of other layers
        return {
            **({"use_sliding_window": False} if architecture in WITHOUT_WINDOW else {}),
            "hidden_size": of("embedding_length"),
            "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": of("attention.head_count_kv", heads) if keys is None else keys,
            "head_dim": kept,
            "intermediate_size": of("feed_forward_length", *((1,) if experts_alone else ())),
            "max_position_embeddings": of("context_length"),
            eps or "rms_norm_eps": of(f"attention.layer_norm_{'' if eps else 'rms_'}epsilon"),
            "attention_bias": biased and architecture not in ("qwen2", "qwen2moe", "qwen2vl"),
            "rope_parameters": self._rope(of, kept) if rope is None else rope,
        }

    def _rope(self, of: Callable[..., Any], d_head: Any) -> dict[str, Any]:
        """Base and scaling of the rotations. As in llama.cpp, a factor without a kind is linear, and 0 means 1."""
        base, rotated = of("rope.freq_base", 10_000.0), of("rope.dimension_count", None)
        if rotated is not None and rotated != d_head:
            raise self._error(f"rotates {rotated} of {d_head} numbers of a head, which is not supported")
        kind = self.file.settings.text(f"{self.file.settings['general.architecture']}.rope.scaling.type", "linear")
        factor = of("rope.scaling.factor", of("rope.scale_linear", 1.0)) or 1.0  # the second is the older name
        scaled = kind != "none" and factor != 1
        if scaled and kind not in ("linear", "yarn"):
            raise self._error(f"scales its rotations by {str(kind)[:40]!r}; linear, YaRN and LLaMA 3.1's can be read")
        if FACTORS in self.file.tensors:
            if scaled:
                raise self._error(f"scales its rotations twice: by {FACTORS}, and all by {factor}")
            return {"rope_theta": base} | self._long_context(d_head, base)
        if scaled and kind == "yarn":
            return {"rope_theta": base} | self._yarn(of, factor)
        return {"rope_theta": base} | ({"rope_type": "linear", "factor": factor} if scaled else {})

    def _yarn(self, of: Callable[..., Any], factor: float) -> dict[str, Any]:
        """YaRN, whose blend begins and ends at whole pairs in llama.cpp; gpt-oss was trained without that."""
        return {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": of("rope.scaling.original_context_length", of("context_length")),
            "beta_fast": of("rope.scaling.yarn_beta_fast", 32.0),
            "beta_slow": of("rope.scaling.yarn_beta_slow", 1.0),
            "truncate": self._kind.family != "gpt_oss",
        }

    def _long_context(self, d_head: int, base: float) -> dict[str, Any]:
        """LLaMA 3.1's scaling, whose factors alone the file has."""
        stated = torch.tensor(self._listed(FACTORS))
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
        raise self._error(f"has {FACTORS} that are not those of LLaMA 3.1")

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self.path} {what}")
