"""Patching, its estimates and head scores of the shipped models as TransformerLens itself computes them.

By night: the library is fetched for these tests alone (`make oracles`). By day the same functions are held against
edits and loops written out by hand.
"""

import importlib
import importlib.util
import os
import warnings
from functools import partial

import numpy as np
import pytest
import torch

import tfcore
from tests.nightly import nightly
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.induction_heads import scores_of
from tfcore.model import Transformer
from tfcore.views.inside.interventions.measure.patching import all_shares, estimate_patches, pair, patch_each
from tfcore.views.inside.stream.measure.lens import logit_lens

pytestmark = [nightly, pytest.mark.usefixtures("unchecked"), pytest.mark.filterwarnings("ignore")]

CHILD = "There was a little {}. One day, Sam said that"
KINDS = ("residual", "attention", "feed-forward")
HOOKS = {"residual": "hook_resid_pre", "attention": "hook_attn_out", "feed-forward": "hook_mlp_out"}


@pytest.fixture(scope="module")
def library():
    """TransformerLens."""
    if importlib.util.find_spec("transformer_lens") is None:
        reason = "TransformerLens is missing: make oracles"
        pytest.fail(reason) if "CI" in os.environ else pytest.skip(reason)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("transformer_lens.patching")
        importlib.import_module("transformer_lens.head_detector")
        return importlib.import_module("transformer_lens")


@pytest.fixture(scope="module", params=["stories", "induction"])
def both(request, library):
    """A shipped model, ours and theirs, and two texts of equal length that differ in one token or more."""
    model, tokenizer = tfcore.load(request.param, device="cpu")
    if request.param == "stories":
        texts = [tokenizer.encode(CHILD.format(child)) for child in ("girl", "boy")]
    else:
        once = torch.randperm(model.config.vocab_size, generator=torch.Generator().manual_seed(0))[:8].tolist()
        texts = [[*once, *once[:4]], [*once[:3], 99, *once[4:], *once[:4]]]
    return model, theirs(library, model), texts


def theirs(library, model: Transformer):
    """The same weights in their module."""
    config = model.config
    heads, width, size = config.attention.n_heads, config.d_model, config.head_size
    found = library.TransformerBridge.boot_native(
        library.TransformerBridgeConfig(
            n_layers=config.n_layers,
            d_model=width,
            n_ctx=config.max_seq_len,
            d_head=size,
            n_heads=heads,
            d_vocab=config.vocab_size,
            d_mlp=config.ff_size or None,
            attn_only=config.ff_size == 0,
            act_fn="silu",
            gated_mlp=config.ff_size > 0,
            normalization_type="RMS",
            eps=config.norm.eps,
            positional_embedding_type="rotary",
            rotary_dim=size,
            rotary_base=config.positions.base,
            default_prepend_bos=False,
            device="cpu",
        )
    )
    weights = found.state_dict()
    ours = model.state_dict()

    def put(name: str, value: torch.Tensor) -> None:
        assert weights[name].shape == value.shape, name
        weights[name] = value

    put("embed.weight", ours["embed.weight"])
    put("unembed.weight", ours["embed.weight" if config.tie_embeddings else "unembed.weight"])
    put("ln_final.weight", ours["decoder.ln_final.weight"])
    for i in range(config.n_layers):
        block, their = f"decoder.blocks.{i}.", f"blocks.{i}."
        put(f"{their}ln1.weight", ours[f"{block}ln1.weight"])
        queries, keys, values = ours[f"{block}attn.qkv.weight"].chunk(3)
        put(f"{their}attn.q.weight", in_pairs(queries, heads))
        put(f"{their}attn.k.weight", in_pairs(keys, heads))
        put(f"{their}attn.v.weight", values)
        put(f"{their}attn.o.weight", ours[f"{block}attn.out.weight"])
        if config.ff_size:
            put(f"{their}ln2.weight", ours[f"{block}ln2.weight"])
            gate, up = ours[f"{block}mlp.up.weight"].chunk(2)
            put(f"{their}mlp.gate.weight", gate)
            put(f"{their}mlp.in.weight", up)
            put(f"{their}mlp.out.weight", ours[f"{block}mlp.down.weight"])
    biases = [name for name in weights if name.endswith(".bias")]
    assert all(not weights[name].any() for name in biases)
    found.load_state_dict(weights)
    return found.eval()


def in_pairs(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of queries or keys in the order of theirs: RoPE turns features 2i and 2i + 1 together there, and i and
    i + d_head / 2 here."""
    return rows.view(heads, 2, -1, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)


def kinds_of(model: Transformer) -> tuple[str, ...]:
    return KINDS if model.config.ff_size else KINDS[:2]


def measure(logits: torch.Tensor, answers: tuple[int, int]) -> torch.Tensor:
    """The logit difference at the end."""
    return logits[0, -1, answers[0]] - logits[0, -1, answers[1]]


def test_logits_patterns_and_lens(both):
    model, other, (source, _) = both
    with torch.no_grad():
        logits, cache = other.run_with_cache(torch.tensor([source]))
    names = [f"blocks.{i}.attn.pattern" for i in range(model.config.n_layers)]
    with torch.no_grad():
        found = model(torch.tensor([source]), capture=names)
    torch.testing.assert_close(found.logits, logits, atol=1e-4, rtol=1e-4)
    for i, name in enumerate(names):
        torch.testing.assert_close(found.activations[name], cache["pattern", i], atol=1e-5, rtol=1e-4)
    lens = logit_lens(model, source)
    stages, _ = cache.accumulated_resid(-1, incl_mid=bool(model.config.ff_size), apply_ln=False, return_labels=True)
    with torch.no_grad():
        guesses = other.unembed(other.ln_final(stages[:, 0])).softmax(-1)
    top = guesses.topk(lens.best.shape[-1])
    np.testing.assert_allclose(lens.probability, top.values.numpy(), atol=1e-5)
    np.testing.assert_array_equal(lens.best[..., 0], top.indices[..., 0].numpy())


def test_patching(both):
    """get_act_patch_resid_pre, get_act_patch_attn_out and get_act_patch_mlp_out, every layer and position."""
    patching = importlib.import_module("transformer_lens.patching")
    by_kind = {
        "residual": patching.get_act_patch_resid_pre,
        "attention": patching.get_act_patch_attn_out,
        "feed-forward": patching.get_act_patch_mlp_out,
    }
    model, other, (source, target) = both
    pairing = pair(model, source, target)
    clean, corrupted = torch.tensor([source]), torch.tensor([target])
    _, cache = other.run_with_cache(clean)
    for kind in kinds_of(model):
        found = by_kind[kind](other, corrupted, cache, lambda logits: measure(logits, pairing.answers))
        high, low = pairing.difference
        shares = all_shares(list(patch_each(model, pairing, kind)), len(target))[: len(found)]  # the last stage is ours
        np.testing.assert_allclose(shares, ((found - low) / (high - low)).numpy(), atol=2e-4)


def test_attribution_patching_of_every_layer_and_position(both):
    """By their hooks: (clean - corrupted activation) . gradient on the corrupted text."""
    model, other, (source, target) = both
    pairing = pair(model, source, target)
    _, clean = other.run_with_cache(torch.tensor([source]))
    high, low = pairing.difference
    for kind in kinds_of(model):
        names = [f"blocks.{i}.{HOOKS[kind]}" for i in range(model.config.n_layers)]
        corrupted, gradients = values_and_gradients(other, target, pairing.answers, names)
        rows = [((clean[name] - corrupted[name]) * gradients[name])[0].sum(-1) for name in names]
        expected = (torch.stack(rows) / (high - low)).detach().numpy()
        np.testing.assert_allclose(estimate_patches(model, pairing, kind)[: len(rows)], expected, atol=2e-4)


def test_attribution_patching_of_every_head(both):
    """The head's z taken away: z . gradient, summed over positions."""
    model, other, (source, target) = both
    answers = pair(model, source, target).answers
    names = [f"blocks.{i}.attn.hook_z" for i in range(model.config.n_layers)]
    values, gradients = values_and_gradients(other, target, answers, names)
    heads = (model.config.attention.n_heads, -1)  # of each token's row, in which they stand one after the other
    shares = [(values[name] * gradients[name]).view(len(target), *heads).sum((0, 2)) for name in names]
    expected = torch.stack(shares).detach().numpy()
    found = estimate_effects(model, target, Quantity("difference", *answers), "zero")
    np.testing.assert_allclose(found[:, : model.config.attention.n_heads], expected, atol=2e-4)


def values_and_gradients(other, ids: list[int], answers: tuple[int, int], names: list[str]):
    """Activations of these names, and the gradients of the logit difference, by name."""
    values, gradients = {}, {}

    def forward(value, hook, name):
        values[name] = value.detach().clone()

    def backward(gradient, hook, name):
        gradients[name] = (gradient[0] if isinstance(gradient, tuple) else gradient).detach().clone()

    hooks = [[(name, partial(note, name=name)) for name in names] for note in (forward, backward)]
    with torch.enable_grad(), other.hooks(*hooks):
        measure(other(torch.tensor([ids])), answers).backward()
    other.zero_grad()
    return values, gradients


def test_head_scores_are_the_detectors(both):
    """Ours are means over the queries that have something to find, the detector's over all queries."""
    detector = importlib.import_module("transformer_lens.head_detector")
    model, other, _ = both
    row = torch.randperm(min(model.config.vocab_size, 200), generator=torch.Generator().manual_seed(1))[:12].repeat(2)
    _, cache = other.run_with_cache(row[None])
    patterns = torch.stack([cache["pattern", i][0] for i in range(model.config.n_layers)])
    found = scores_of(patterns.numpy(), row.numpy())
    tokens = len(row)
    targets = {
        "previous token": (detector.get_previous_token_head_detection_pattern(row[None]), tokens - 1),
        "duplicate": (detector.get_duplicate_token_head_detection_pattern(row[None]), tokens // 2),
        "induction": (detector.get_induction_head_detection_pattern(row[None]), tokens // 2),
    }
    for kind, (target, queries) in targets.items():
        expected = [
            [
                float(
                    detector.compute_head_attention_similarity_score(
                        head,
                        detection_pattern=target,
                        exclude_bos=False,
                        exclude_current_token=False,
                        error_measure="mul",
                    )
                )
                * tokens
                / queries
                for head in layer
            ]
            for layer in patterns
        ]
        np.testing.assert_allclose(found[kind], expected, atol=1e-4)
