"""Any settings of any family, drawn at random, give what they give in `transformers`: logits, attention maps, and the
same greedy text. The nightly profile draws 2,000 of each kind."""

import tempfile
from pathlib import Path

import torch
import transformers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.nightly import nightly
from tests.parity.checkpoints import written
from tests.parity.comparing import TOLERANCE, assert_patterns, assert_scores, padding, scores
from tests.small import ids
from tfcore import generate, load
from tfcore.generation.sampling import Sampling

SEQ = 13
GATES = st.sampled_from(["silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu"])
EPS = st.sampled_from([1e-6, 1e-5, 1e-2])
LAYERS = st.integers(1, 3)


@st.composite
def rotations(draw):
    """Any scaling that we know of."""
    kind = draw(st.sampled_from(["default", "linear", "dynamic", "llama3", "yarn"]))
    values = {"rope_type": kind, "rope_theta": draw(st.sampled_from([10.0, 500.0, 10_000.0]))}
    if kind == "default":
        return values
    values["factor"] = draw(st.sampled_from([1.0, 1.5, 8.0]))
    if kind in ("llama3", "yarn"):
        values["original_max_position_embeddings"] = draw(st.sampled_from([4, 8, 64, 1000]))
    if kind == "llama3":
        values |= {"low_freq_factor": draw(st.sampled_from([0.5, 1.0])), "high_freq_factor": 4.0}
    if kind == "yarn":
        options = {
            "attention_factor": st.sampled_from([0.5, 2.0]),
            "truncate": st.booleans(),
            "mscale": st.sampled_from([0.5, 2.0]),
            "mscale_all_dim": st.sampled_from([0.5, 1.0]),
            "beta_fast": st.sampled_from([4.0, 16.0]),
            "beta_slow": st.sampled_from([0.5, 2.0]),
        }
        values |= draw(st.fixed_dictionaries({}, optional=options))
    return values


@st.composite
def decoders(draw):
    """LLaMA and those built like it. A window of 1 is left out: there their cache and their model disagree."""
    name = draw(st.sampled_from(["Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Mixtral"]))
    n_kv = draw(st.sampled_from([1, 2, 3]))
    n_heads = n_kv * draw(st.sampled_from([1, 2, 3]))
    values = {
        "vocab_size": 61,
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv,
        "hidden_size": 4 * n_heads,
        "head_dim": draw(st.sampled_from([4, 10, 16])),
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(LAYERS),
        "max_position_embeddings": draw(st.sampled_from([24, 64])),
        "rms_norm_eps": draw(EPS),
        "tie_word_embeddings": draw(st.booleans()),
        "hidden_act": draw(GATES),
        "rope_parameters": draw(rotations()),
    }
    windows = st.sampled_from([2, 5, 13, 40])
    if name in ("Llama", "Qwen3", "Gemma"):
        values["attention_bias"] = draw(st.booleans())
    if name == "Llama":
        values["mlp_bias"] = draw(st.booleans())
    if name in ("Mistral", "Mixtral"):
        values["sliding_window"] = draw(st.none() | windows)
    if name in ("Qwen2", "Qwen3") and draw(st.booleans()):
        values |= {"use_sliding_window": True, "sliding_window": draw(windows), "max_window_layers": draw(LAYERS)}
    if name == "Mixtral":
        n_experts = draw(st.integers(1, 5))
        values |= {"num_local_experts": n_experts, "num_experts_per_tok": draw(st.integers(1, n_experts))}
    return getattr(hf, f"{name}{draw(st.sampled_from(['ForCausalLM', 'Model']))}"), values


@st.composite
def gpt2s(draw):
    n_heads = draw(st.sampled_from([1, 2, 3, 6]))
    values = {
        "vocab_size": 61,
        "n_embd": n_heads * draw(st.integers(1, 5)),
        "n_layer": draw(LAYERS),
        "n_head": n_heads,
        "n_positions": 32,
        "n_inner": draw(st.none() | st.integers(1, 40)),
        "activation_function": draw(GATES),
        "scale_attn_weights": draw(st.booleans()),
        "scale_attn_by_inverse_layer_idx": draw(st.booleans()),
        "reorder_and_upcast_attn": draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
        "layer_norm_epsilon": draw(EPS),
    }
    return draw(st.sampled_from([hf.GPT2LMHeadModel, hf.GPT2Model])), values


@st.composite
def berts(draw):
    n_heads = draw(st.sampled_from([1, 2, 3, 6]))
    width, d_ff, tied = n_heads * draw(st.integers(1, 5)), draw(st.integers(1, 40)), draw(st.booleans())
    shared = {"vocab_size": 61, "max_position_embeddings": 32, "tie_word_embeddings": tied}
    if draw(st.booleans()):
        shape = {"dim": width, "hidden_dim": d_ff, "n_layers": draw(LAYERS), "n_heads": n_heads}
        shape["activation"] = draw(st.sampled_from(["gelu", "relu"]))
        return draw(st.sampled_from([hf.DistilBertForMaskedLM, hf.DistilBertModel])), shared | shape
    shape = {
        "hidden_size": width,
        "intermediate_size": d_ff,
        "num_hidden_layers": draw(LAYERS),
        "num_attention_heads": n_heads,
        "type_vocab_size": draw(st.integers(1, 3)),
        "hidden_act": draw(GATES),
        "layer_norm_eps": draw(EPS),
    }
    return draw(st.sampled_from([hf.BertForMaskedLM, hf.BertForPreTraining, hf.BertModel])), shared | shape


@st.composite
def debertas(draw):
    n_heads, span = draw(st.sampled_from([1, 2, 3, 6])), draw(st.integers(2, 20))
    logarithmic = draw(st.booleans())
    furthest = draw(st.integers(span // 2 + 2, 40)) if logarithmic else draw(st.integers(2, 20))
    values = {
        "vocab_size": 61,
        "hidden_size": n_heads * draw(st.integers(1, 5)),
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(LAYERS),
        "num_attention_heads": n_heads,
        "max_position_embeddings": 32,
        "relative_attention": draw(st.booleans()),
        "pos_att_type": draw(st.sampled_from(["c2p|p2c", "p2c", "c2p", ["p2c", "c2p"], []])),
        "max_relative_positions": furthest,
        "position_biased_input": draw(st.booleans()),
        "type_vocab_size": draw(st.integers(0, 2)),
        "legacy": draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
        "hidden_act": draw(GATES),
        "layer_norm_eps": draw(EPS),
    }
    if not logarithmic and draw(st.booleans()):
        return draw(st.sampled_from([hf.DebertaForMaskedLM, hf.DebertaModel])), values
    values |= {
        "position_buckets": span if logarithmic else -1,
        "share_att_key": draw(st.booleans()),
        "norm_rel_ebd": draw(st.sampled_from(["none", "layer_norm"])),
    }
    return draw(st.sampled_from([hf.DebertaV2ForMaskedLM, hf.DebertaV2Model])), values


@st.composite
def t5s(draw):
    buckets = draw(st.integers(4, 20))
    inner = draw(st.sampled_from(["relu", "gelu", "silu", "gated-relu", "gated-gelu", "gated-silu"]))
    values = {
        "vocab_size": 61,
        "d_model": draw(st.integers(1, 24)),
        "d_kv": draw(st.integers(1, 12)),
        "d_ff": draw(st.integers(1, 40)),
        "num_layers": draw(LAYERS),
        "num_decoder_layers": draw(LAYERS),
        "num_heads": draw(st.integers(1, 6)),
        "feed_forward_proj": inner,
        "layer_norm_epsilon": draw(EPS),
        "relative_attention_num_buckets": buckets,
        "relative_attention_max_distance": draw(st.integers(buckets // 2 + 1, 40)),
        "tie_word_embeddings": draw(st.booleans()),
        "decoder_start_token_id": draw(st.integers(0, 3)),
        "pad_token_id": 0,
        "eos_token_id": 1,
    }
    return draw(st.sampled_from([hf.T5ForConditionalGeneration, hf.T5Model])), values


def pair(kind, settings):
    """The model of `transformers`, and ours of its files."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        theirs = written(kind, settings, folder)
        if kind.__name__.startswith("Mixtral"):
            theirs.set_experts_implementation("eager")  # the other ways want widths that suit their kernels
        return load(Path(folder), device="cpu")[0], theirs


def tolerance(expected):
    """Of the scores: relative where they are above 10."""
    return TOLERANCE * max(1.0, float(scores(expected).abs().max()) / 10)


@nightly
@given(st.one_of(decoders(), gpt2s()), st.integers(0, 6))
def test_any_decoder(drawn, pad):
    ours, theirs = pair(*drawn)
    tokens, real = ids(2, SEQ), padding(pad)
    expected = theirs(tokens, attention_mask=real.long(), output_attentions=True)
    output = ours(tokens, padding_mask=real, capture="*pattern")
    assert_scores(output, expected, real, tolerance(expected))
    assert_scores(ours(tokens, padding_mask=real), expected, real, tolerance(expected))  # by the fused kernel
    assert_patterns(output.activations, "blocks.{}.attn.pattern", expected.attentions, real)
    if hasattr(theirs, "lm_head"):
        prompt = tokens[:1, :5]
        options = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
        text = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
        assert generate(ours, prompt[0].tolist(), Sampling(temperature=0), max_new_tokens=8) == text[0, 5:].tolist()


@nightly
@given(st.one_of(berts(), debertas()), st.integers(0, 6))
def test_any_encoder(drawn, pad):
    ours, theirs = pair(*drawn)
    tokens, real = ids(2, SEQ), padding(pad)
    segments = ids(2, SEQ, ours.config.n_segments, seed=1) if ours.config.n_segments else None
    more = {} if segments is None else {"token_type_ids": segments}
    expected = theirs(tokens, attention_mask=real.long(), output_attentions=True, **more)
    output = ours(tokens, padding_mask=real, segment_ids=segments, capture="*pattern")
    assert_scores(output, expected, real, tolerance(expected))
    assert_patterns(output.activations, "blocks.{}.attn.pattern", expected.attentions, real)


@nightly
@given(t5s(), st.integers(0, 6))
def test_any_encoder_decoder(drawn, pad):
    ours, theirs = pair(*drawn)
    tokens, answers, real = ids(2, SEQ), ids(2, 7, seed=1), padding(pad)
    every = torch.ones(2, 7, dtype=torch.bool)
    expected = theirs(input_ids=tokens, attention_mask=real.long(), decoder_input_ids=answers, output_attentions=True)
    output = ours(tokens, decoder_ids=answers, padding_mask=real, capture="*pattern")
    assert_scores(output, expected, every, tolerance(expected))
    assert_patterns(output.activations, "encoder.blocks.{}.attn.pattern", expected.encoder_attentions, real)
    assert_patterns(output.activations, "decoder.blocks.{}.attn.pattern", expected.decoder_attentions, every)
    assert_patterns(output.activations, "decoder.blocks.{}.cross_attn.pattern", expected.cross_attentions, every)
