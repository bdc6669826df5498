"""Checkpoints of every family: tiny random models written by `transformers`, read by tfcore.load, give the same logits,
hidden states and attention maps - with and without padding, whole and in shards."""

from functools import partial

import pytest
import torch
import transformers as hf
from transformers.models.mpt import modeling_mpt

from tests.nightly import often_named
from tests.parity.checkpoints import BOTH, COMPOSITES, DECODERS, ENCODERS, FALCON_RW, MPT, PICTURES, SOUNDS, written
from tests.parity.comparing import TOLERANCE, alike, assert_patterns, assert_scores, padding
from tests.small import difference, ids
from tfcore import load
from tfcore.loading.against_transformers import AFTER_BLOCKS
from tfcore.model import Transformer

PADDED = {"whole": 0, "right": 6, "left": -6}


def first_of_each(cases):
    """The name of the first case of each family; the others are tried each night."""
    return {kind.config_class.model_type: name for name, (kind, _) in reversed(cases.items())}.values()


OF_TEXTS = ("gemma 3 that sees", "qwen2-vl", "voxtral")  # of each way to write settings and names
PLACES = torch.arange(13).expand(2, 13)


def captured(config):
    """Names of what is compared: the streams, the last of them after the final norm where there is one, and maps."""
    return ("*pattern", "*resid_[!m]*", "*ln_final.normalized" if config.norm.final else "*resid_post")


def assert_stack(activations, prefix, n, hidden, attentions, real, attending=None, at="resid_pre"):
    """Every hidden state and attention map of one stack; `attending` are its layers of attention, where others are of
    another kind, and `at` is where in each block their hidden states are."""
    names, final = [f"{prefix}blocks.{i}.{at}" for i in range(n)], f"{prefix}ln_final.normalized"
    names.append(final if final in activations else f"{prefix}blocks.{n - 1}.resid_post")
    attending = range(n) if attending is None else attending
    assert (len(hidden), len(attentions)) == (n + 1, len(attending))
    for name, expected in zip(names, hidden, strict=True):
        assert alike(activations[name], expected, real) < TOLERANCE, name
    assert_patterns(activations, prefix + "blocks.{}.attn.pattern", attentions, real, attending)


@pytest.mark.parametrize("case", often_named(DECODERS | COMPOSITES, *first_of_each(DECODERS), *OF_TEXTS))
def test_decoders(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, tokenizer = load(tmp_path, device="cpu")
    assert tokenizer is None
    tokens, n, maps_kept = ids(2, 13), ours.config.n_layers, theirs.config._attn_implementation == "eager"
    for pad in PADDED.values():
        real = padding(pad)
        # OPT counts the places of real tokens alone, where they are not given
        more = {"position_ids": PLACES} if kind.config_class.model_type == "opt" else {}
        asked = {"output_attentions": maps_kept, "output_hidden_states": True} | more
        expected = theirs(tokens, attention_mask=real.long(), **asked)
        output = ours(tokens, padding_mask=real if pad else None, capture=captured(ours.config))
        assert_scores(output, expected, real)
        attending = ours.config.attention_layers
        at = "resid_post" if kind.config_class.model_type in AFTER_BLOCKS else "resid_pre"
        maps = expected.get("attentions") or ()
        kept = attending if maps_kept else ()
        assert_stack(output.activations, "", n, expected.hidden_states, maps, real, kept, at)
        assert_scores(ours(tokens, padding_mask=real), expected, real)


@pytest.mark.parametrize("case", often_named(ENCODERS, *first_of_each(ENCODERS)))
def test_encoders(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    tokens, n = ids(2, 13), ours.config.n_layers
    segments = ids(2, 13, ours.config.n_segments, seed=1) if ours.config.n_segments else None
    for pad in PADDED.values():
        real = padding(pad)
        more = {} if segments is None else {"token_type_ids": segments}
        expected = theirs(tokens, attention_mask=real.long(), output_attentions=True, output_hidden_states=True, **more)
        output = ours(tokens, padding_mask=real, segment_ids=segments, capture=captured(ours.config))
        assert_scores(output, expected, real)
        assert_stack(output.activations, "", n, expected.hidden_states, expected.attentions, real)
        if "pooler_output" in expected and real[:, 0].all():
            assert difference(output.pooled, expected.pooler_output) < TOLERANCE
    assert (ours.config.head == "none") == kind.__name__.endswith("Model")


@pytest.mark.parametrize("case", often_named(PICTURES, *PICTURES))
def test_pictures(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    patches, n = ours.config.patches, ours.config.n_layers
    pixels = torch.randn(2, patches.channels, patches.side, patches.side, generator=torch.Generator().manual_seed(0))
    expected = theirs(pixels, output_attentions=True, output_hidden_states=True)
    output = ours(pixels, capture=captured(ours.config))
    every = torch.ones(2, ours.config.max_seq_len, dtype=torch.bool)
    # their last hidden state is that before the final norm, and only their output after it
    hidden = (*expected.hidden_states[:-1], expected.get("last_hidden_state", expected.hidden_states[-1]))
    if "logits" in expected:
        assert difference(output.logits[:, ours.config.read_at], expected.logits) < TOLERANCE
        hidden = (*hidden[:-1], theirs.base_model.layernorm(hidden[-1]))
    assert_stack(output.activations, "", n, hidden, expected.attentions, every)
    if output.pooled is not None:
        assert difference(output.pooled, expected.pooler_output) < TOLERANCE
    assert ("logits" in expected) == (ours.config.classes is not None)


@pytest.mark.parametrize("case", often_named(BOTH, *first_of_each(BOTH)))
def test_encoder_decoders(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    tokens, answers = ids(2, 13), ids(2, 7, seed=1)
    every = torch.ones(2, 7, dtype=torch.bool)
    for pad in PADDED.values():
        real = padding(pad)
        expected = theirs(
            input_ids=tokens,
            attention_mask=real.long(),
            decoder_input_ids=answers,
            output_attentions=True,
            output_hidden_states=True,
        )
        output = ours(tokens, decoder_ids=answers, padding_mask=real, capture=captured(ours.config))
        assert_scores(output, expected, every)
        seen, n = output.activations, ours.config.encoder_layers
        assert_stack(seen, "encoder.", n, expected.encoder_hidden_states, expected.encoder_attentions, real)
        n = ours.config.decoder_layers
        assert_stack(seen, "decoder.", n, expected.decoder_hidden_states, expected.decoder_attentions, every)
        assert len(expected.cross_attentions) == n
        for i, pattern in enumerate(expected.cross_attentions):
            assert difference(seen[f"decoder.blocks.{i}.cross_attn.pattern"], pattern) < TOLERANCE
    assert ours.config.start_id == (settings.get("decoder_start_token_id") or 0)


@pytest.mark.parametrize("case", often_named(SOUNDS, "whisper"))
def test_sounds(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    sound = ours.config.sound
    heard = torch.randn(2, sound.mels, sound.frames, generator=torch.Generator().manual_seed(0))
    answers = ids(2, 7, seed=1)
    asked = {"decoder_input_ids": answers, "output_attentions": True, "output_hidden_states": True}
    expected = theirs(input_features=heard, **asked)
    output = ours(heard, decoder_ids=answers, capture=captured(ours.config))
    assert_scores(output, expected, torch.ones(2, 7, dtype=torch.bool))
    for stack, n in (("encoder", sound.places), ("decoder", 7)):
        layers, every = getattr(ours.config, f"{stack}_layers"), torch.ones(2, n, dtype=torch.bool)
        hidden, maps = (expected[f"{stack}_{what}"] for what in ("hidden_states", "attentions"))
        assert_stack(output.activations, f"{stack}.", layers, hidden, maps, every)
    for i, pattern in enumerate(expected.cross_attentions):
        assert difference(output.activations[f"decoder.blocks.{i}.cross_attn.pattern"], pattern) < TOLERANCE


def test_falcon_rw_rounds_the_biases_of_its_keys(tmp_path):
    """With heads whose slopes are no powers of two, so that bfloat16 does not hold their multiples."""
    theirs = written(hf.FalconForCausalLM, FALCON_RW | {"num_attention_heads": 12}, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    tokens = ids(2, 31)
    assert difference(ours(tokens).logits, theirs(tokens).logits) < TOLERANCE
    assert ours.config.positions.by_key
    exact = Transformer(ours.config.changed(alibi_by_key=False))
    exact.load_state_dict(ours.state_dict())
    assert difference(exact(tokens).logits, theirs(tokens).logits) > 100 * TOLERANCE


def test_the_slopes_of_mpt_are_as_steep_as_its_settings_say(tmp_path, monkeypatch):
    """As MPT's published code has it; transformers has it in a function, and calls that without the setting."""
    steep = partial(modeling_mpt.build_mpt_alibi_tensor, alibi_bias_max=16)
    monkeypatch.setattr(
        modeling_mpt, "build_mpt_alibi_tensor", lambda heads, n, _, device: steep(heads, n, device=device)
    )
    theirs = written(hf.MptForCausalLM, MPT | {"attn_config": {"alibi_bias_max": 16, "clip_qkv": 0.9}}, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    assert difference(ours(ids(2, 13)).logits, theirs(ids(2, 13)).logits) < TOLERANCE


@pytest.mark.parametrize("name", ["llama", "mixtral", "gpt2"])
def test_shards_are_one_model(tmp_path, name):
    kind, settings = DECODERS[name]
    theirs = written(kind, settings, tmp_path, max_shard_size="9KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 3
    assert not (tmp_path / "model.safetensors").exists()
    ours, _ = load(tmp_path, device="cpu")
    assert difference(ours(ids(2, 13)).logits, theirs(ids(2, 13)).logits) < TOLERANCE


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_come_in_the_type_asked_for(tmp_path, dtype):
    theirs = written(*DECODERS["gemma"], tmp_path)
    ours, _ = load(tmp_path, device="cpu", dtype=dtype)
    assert {parameter.dtype for parameter in ours.parameters()} == {dtype}
    exact = 1 + theirs.model.norm.weight  # added before it is rounded
    assert torch.equal(ours.decoder.ln_final.weight, exact.to(dtype))
