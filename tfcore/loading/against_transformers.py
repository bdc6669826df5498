"""A checkpoint read here and by `transformers`, compared: logits, hidden states, attention maps, tokens, texts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tfcore.files import CheckpointError, read_json
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.input_checks import ModelInput
from tfcore.loading.checkpoints import OF_WRITING, load
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TOLERANCE = 1e-4  # of the largest value: what the order of sums makes in float32
TOKENS = 24  # read
WRITTEN = 16
AFTER_BLOCKS = ("mamba2",)  # families whose hidden states in transformers begin after the first block
TEXTS = ("Once upon a time, in 1969, a library burned.", "naïve café — 東京 🙂", "def f(x):\n    return x  # twice")


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """How far apart the two are in one part.

    Args:
        what: is compared, such as "logits".
        difference: the largest difference over the largest value; of tokens, the share that is not the same.
        where: it is largest, such as "layer 3"; empty where there is but one place.
    """

    what: str
    difference: float
    where: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether no more than rounding is between the two."""
        return self.difference <= TOLERANCE

    def __str__(self) -> str:
        at = f", at {self.where}" if self.where and not self.is_equal else ""
        return f"{'equal' if self.is_equal else 'NOT EQUAL':<10} {self.what}: {self.difference:.1e}{at}"


def compared(path: str | Path, seed: int = 0) -> list[Discrepancy]:
    """Read a folder, or a GGUF file, with both libraries, in float32 on the CPU, and compare what they make of TOKENS
    random tokens, or of a random picture or sound.

    Args:
        seed: of the tokens, the picture, or the sound.

    Raises:
        CheckpointError: one of the two cannot read it, or transformers is not installed.
    """
    place = Path(path)
    ours, tokenizer = load(place, device="cpu")
    theirs = _theirs(place)
    draws, n = torch.Generator().manual_seed(seed), max(2, min(TOKENS, ours.config.max_seq_len - WRITTEN))
    ids, answer = (torch.randint(ours.config.vocab_size, (1, seq), generator=draws) for seq in (n, n // 2))
    shape = ours.config.input_shape
    for number in _never_typed(theirs.config):
        ids, answer = (torch.where(one == number, (one + 1) % ours.config.vocab_size, one) for one in (ids, answer))
    read = ids if shape is None else torch.randn(1, *shape, generator=draws)
    with torch.inference_mode():
        found = [*_of_a_pass(ours, theirs, read, answer)]
        if hasattr(theirs, "generate") and ours.config.architecture != "encoder" and found[0].what == "logits":
            found.append(_of_writing(ours, theirs, read))
    if tokenizer is not None and place.is_dir():
        found.append(_of_texts(tokenizer, place))
    return found


def _never_typed(config: Any) -> Iterable[int]:
    """Tokens that stand in no text: padding, to which some give no position, and places of pictures and sounds."""
    for settings in (config, getattr(config, "text_config", config)):
        for what, end in product(("pad", "image", "video", "audio"), ("id", "index")):
            if isinstance(number := getattr(settings, f"{what}_token_{end}", None), int):
                yield number


def _theirs(place: Path) -> Any:
    try:
        import transformers

        transformers.logging.disable_progress_bar()
    except ImportError as error:
        raise CheckpointError("to compare with it, install transformers: python -m pip install transformers") from error
    settings = {"attn_implementation": _attention_of(place), "dtype": torch.float32, "local_files_only": True}
    try:
        if place.is_file():
            return transformers.AutoModelForCausalLM.from_pretrained(
                str(place.parent), gguf_file=place.name, **settings
            ).eval()
        names = read_json(place / "config.json").get("architectures") or ["AutoModel"]
        kind = getattr(transformers, str(names[0]))
        return kind.from_pretrained(str(place), use_safetensors=True, **settings).eval()
    except Exception as error:  # whatever it does not like about the files
        raise CheckpointError(f"transformers cannot read {place}: {error}") from error


def _attention_of(place: Path) -> str:
    """Which attention of transformers is compared with: the one that keeps its maps, but of Falcon-RW, whose biases it
    adds twice, the other (transformers 5.23)."""
    config = {} if place.is_file() else read_json(place / "config.json")
    return "sdpa" if config.get("model_type") == "falcon" and config.get("alibi") else "eager"


def _of_classes(model: Transformer, scores: Tensor) -> Tensor:
    """The scores of a text alone, where a head tells classes of it apart."""
    if model.config.classes is None or model.config.classes.place == "each":
        return scores
    return scores[:, model.config.read_at]


def _of_a_pass(ours: Transformer, theirs: Any, ids: Tensor, answer: Tensor) -> Iterable[Discrepancy]:
    both, encoder = ours.config.architecture == "encoder-decoder", ours.config.architecture == "encoder"
    writes = both and not ours.config.reads_twice
    if ours.config.classes is not None and (end := ours.config.classes.end_id) is not None:
        ids = torch.cat((ids[:, :-1], ids.new_tensor([[end]])), dim=1)
    given = {theirs.main_input_name: ids, **({"decoder_input_ids": answer} if writes else {})}
    with_maps = theirs.config._attn_implementation == "eager"
    expected = theirs(**given, output_attentions=with_maps, output_hidden_states=True, return_dict=True)
    output = ours(ids, decoder_ids=answer if writes else None, capture=("*pattern", "*resid_*"))
    scores = next((expected[name] for name in ("logits", "prediction_logits") if name in expected), None)
    if "start_logits" in expected:
        scores = torch.stack((expected.start_logits, expected.end_logits), dim=-1)
    if scores is not None:
        yield Discrepancy("logits", _relative(_of_classes(ours, output.logits), scores))
    parts = (("encoder.", "encoder_"), ("decoder.", "decoder_")) if both else (("", ""),)
    for prefix, theirs_prefix in parts:
        seen, hidden = output.activations, expected[f"{theirs_prefix}hidden_states"]
        maps, name = expected.get(f"{theirs_prefix}attentions") or (), prefix.rstrip(".") + " " if prefix else ""
        n = len(hidden) - 1
        attending = range(n) if both else ours.config.attention_layers
        at = "resid_post" if theirs.config.model_type in AFTER_BLOCKS else "resid_pre"
        pre = {f"{name}layer {i}": _relative(seen[f"{prefix}blocks.{i}.{at}"], hidden[i]) for i in range(n)}
        if scores is None and (encoder or not prefix):
            pre["the last layer"] = _relative(output.hidden, expected.last_hidden_state)
        yield _largest(f"{name}hidden states", pre)
        patterns = {
            f"{name}layer {i}": _relative(seen[f"{prefix}blocks.{i}.attn.pattern"], one)
            for i, one in zip(attending if with_maps else (), maps, strict=True)
        }
        if patterns:
            yield _largest(f"{name}attention maps", patterns)
    if both:
        names = [f"decoder.blocks.{i}.cross_attn.pattern" for i in range(ours.config.decoder_layers)]
        pairs = zip(names, expected.cross_attentions, strict=True)
        cross = {f"layer {i}": _relative(output.activations[one], maps) for i, (one, maps) in enumerate(pairs)}
        yield _largest("cross-attention maps", cross)


def _of_writing(ours: Transformer, theirs: Any, ids: ModelInput) -> Discrepancy:
    """Greedy texts, to the length: no token ends them."""
    from transformers import GenerationConfig, GenerationMixin

    start = ours.config.start_id if ours.config.architecture == "encoder-decoder" else None
    settings = {"do_sample": False, "use_cache": False, "pad_token_id": 0, "decoder_start_token_id": start}
    asked = {name: getattr(theirs.generation_config, name) for name in OF_WRITING}
    theirs.generation_config = GenerationConfig(max_new_tokens=WRITTEN, **settings, **asked)
    # of Whisper, not its own `generate`, which cuts sounds into parts and tries several temperatures
    more = {"attention_mask": torch.ones_like(ids)} if ours.config.reads == "texts" else {}
    expected = GenerationMixin.generate(theirs, ids, **more)[0].tolist()
    written = generate(ours, ids, Sampling(temperature=0), max_new_tokens=WRITTEN)
    same = next(
        (i for i, pair in enumerate(zip(written, expected[-WRITTEN:], strict=False)) if pair[0] != pair[1]), WRITTEN
    )
    return Discrepancy(f"tokens written, greedy, {same} of {WRITTEN} the same", 1 - same / WRITTEN)


def _of_texts(tokenizer: Tokenizer, place: Path) -> Discrepancy:
    from transformers import AutoTokenizer

    try:
        theirs = AutoTokenizer.from_pretrained(str(place), local_files_only=True)
    except Exception as error:
        raise CheckpointError(f"transformers cannot read the tokenizer in {place}: {error}") from error
    other = [text for text in TEXTS if tokenizer.encode(text) != theirs(text)["input_ids"]]
    return Discrepancy(f"tokens of {len(TEXTS)} texts", len(other) / len(TEXTS), ", ".join(map(repr, other)))


def _largest(what: str, by_place: Mapping[str, float]) -> Discrepancy:
    where = max(by_place, key=lambda place: by_place[place])
    return Discrepancy(what, by_place[where], where)


def _relative(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference over the largest value."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12))
