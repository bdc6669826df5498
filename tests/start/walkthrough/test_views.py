"""A walk shows what the model computed: its tensors against the model's own pass, its costs counted twice."""

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.attention import attention_weights, weighted_values
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import ExpertsConfig, LayerConfig, PositionsConfig
from tfcore.views.start.walkthrough.measure.costs import feed_forward_share, stage_cost
from tfcore.views.start.walkthrough.measure.tensors import stage_tensors
from tfcore.views.start.walkthrough.measure.walk import CANDIDATES, allowed, first_head, walk, walk_stages
from tfcore.views.start.walkthrough.say.stages import activity, stage_finding

N = 9
TEXT_ALONE = ("characters", "tokens", "ids", "top-5")
MODELS = {
    "as shipped": {},
    "grouped, 2017": {
        "n_kv_heads": 3,
        "positions": "sinusoidal",
        "norm": "layernorm",
        "norm_placement": "post",
        "activation": "relu",
        "bias": True,
        "scale_embeddings": True,
    },
    "learned, sandwich": {"positions": "learned", "norm_placement": "sandwich", "embed_norm": True, "qk_norm": True},
    "alibi, window": {"positions": "alibi", "window": 4, "activation": "gelu", "tie_embeddings": False},
    "relative, own scale": {"positions": "relative", "attn_scale": 1.0, "attn_scale_by_layer": True},
    "like ALBERT": {
        "architecture": "encoder",
        "head": "mlm",
        "positions": "learned",
        "norm": "layernorm",
        "norm_placement": "post",
        "bias": True,
        "embed_norm": True,
        "d_embed": 10,
    },
    "like MPNet": {
        "architecture": "encoder",
        "head": "mlm",
        "positions": "relative",
        "relative_absolute": True,
        "norm": "layernorm",
        "norm_placement": "post",
        "embed_norm": True,
    },
    "like DeBERTa": small.DEBERTA,
    "like DeBERTa v2-xlarge": small.CONVOLVED,
    "parallel": {"parallel": True, "logit_scale": 0.5},
    "attention only": {"d_ff": 0},
    "like Gemma 2": {"norm_placement": "sandwich", "attn_softcap": 2.0, "logit_softcap": 3.0},
    "like OLMo 2": {"norm_placement": "after", "qk_norm": "width"},
    "like MPT-7B-StoryWriter": {"positions": "alibi", "alibi_steepness": 16.0, "attn_clip": 0.02, "n_kv_heads": 3},
    "like Command R+": {"norm": "layernorm", "parallel": True, "qk_norm": "each", "n_kv_heads": 2},
    "like Falcon-RW": {"norm": "layernorm", "bias": True, "positions": "alibi", "alibi_by_key": True},
    "like Pythia": {"norm": "layernorm", "parallel": True, "shared_norm": False, "rotated": 2, "bias": True},
    "like Phi": small.WIRINGS["like Phi"],
    "some rotated": {"layers": (LayerConfig(), LayerConfig(positions=PositionsConfig(kind="none")))},
    "like gpt-oss": small.WIRINGS["like gpt-oss"],
    "gates cut off": {"ff_limit": 1.0, "ff_shift": 1.0, "attn_sinks": True},
    "experts": {"experts": ExpertsConfig(n_experts=4, top_k=2, n_shared=1)},
    "encoder": {
        "architecture": "encoder",
        "head": "mlm",
        "positions": "learned",
        "norm": "layernorm",
        "bias": True,
        "activation": "gelu",
        "n_segments": 2,
    },
    "like ModernBERT": {
        "architecture": "encoder",
        "head": "mlm",
        "norm": "layernorm",
        "embed_norm": True,
        "first_norm": False,
        "activation": "geglu",
        "layers": (LayerConfig(), LayerConfig(window=3, positions=PositionsConfig(base=7.0))),
        "mlm_activation": "relu",
        "mlm_bias": False,
    },
    "no words": {"head": "none", "positions": "none"},
}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return small.model(**MODELS[request.param])


def text(n=N):
    return small.ids(1, n)[0].tolist()


def names(model, layer=1):
    return [stage.name for stage in walk_stages(model.config, layer)]


def whole(pieces):
    return np.concatenate([piece.values for piece in pieces], axis=1)


def test_what_capture_does_not_name_is_what_the_model_computes(model):
    """From the scores to the stream after the block, each tensor of ours leads to the model's own next one."""
    walked, c = walk(model, text(), 1), model.config
    t = {name: torch.from_numpy(value) for name, value in walked.tensors.items()}
    close = lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5, rtol=1e-4)  # noqa: E731
    if c.positions.kind not in ("alibi", "relative", "disentangled"):
        close(t["capped"], t["attn.scores"])
    close(t["products"] * c.scale_of(1), t["scaled"])
    sinks = torch.zeros(c.attention.n_heads) if c.attention.sinks else None  # as those of a model start
    close(attention_weights(t["attn.scores"], t["allowed"], sinks), t["attn.pattern"])
    group = c.attention.n_heads // c.attention.kv_heads
    close(weighted_values(t["attn.pattern"], t["attn.v"].repeat_interleave(group, 0)), t["attn.z"])
    limit = c.attention.clip or 1e9
    close(t["qkv"].clamp(-limit, limit), t["clipped"])
    if not c.attention.qk_norm:
        close(t["split_q"], t["attn.q"])
        close(t["split_k"], t["attn.k"])
    close(t["split_v"], t["attn.v"])
    post = c.norm.placement == "post"
    if not c.norm.of_outputs:
        close(t["written_1"], t["attn_out"])
    if c.ff_size:
        if not c.norm.of_outputs:
            close(t["written_2"], t["mlp_out"])
        after = t["ln2.normalized"] if post else t["sum_2"]
    else:
        after = t["ln1.normalized"] if post else t["sum_1"]
    close(after, t["resid_post"])
    embedded = t.get("embed_norm.normalized", t.get("positioned", t.get("segmented", t["embed"])))
    close(t.get("projected", embedded), walk(model, text(), 0).tensors["resid_pre"])
    close(t["hidden"], model(torch.tensor([text()])).hidden[0])


def test_attention_without_a_norm_reads_the_stream():
    model = small.model(**MODELS["like ModernBERT"])
    assert "norm-1" in names(model, 1)
    assert "norm-1" not in names(model, 0)
    t = walk(model, text(), 0).tensors
    np.testing.assert_array_equal(t["read_1"], t["embed_norm.normalized"])
    np.testing.assert_allclose(t["split_q"], t["attn.q"], atol=2e-5)


def test_each_stage_begins_where_the_one_before_ended(model):
    """Along the stream and inside attention, the tensor before is the tensor after of an earlier stage."""
    walked, path, known = walk(model, text(), 1), names(model), []
    for stage in path:
        if stage in TEXT_ALONE:
            continue
        made = stage_tensors(walked, stage, 2)
        if stage not in ("embedding", "norm-1", "qkv", "add-1", "final-norm", "logits", "mlm-head"):
            for piece in made.before[: 1 if stage in ("positions", "segments") else None]:  # what is added is new
                assert any(
                    piece.values.shape == old.shape and np.allclose(piece.values, old, atol=2e-5) for old in known
                ), (stage, piece.title)
        known += [piece.values for piece in made.after]
        known += [whole(made.after)] if len({len(piece.values) for piece in made.after}) == 1 else []
        if stage == "concat":
            known.append(walked.tensors["concat"])
        if stage in ("positions", "embedding-norm") or (stage == "add-1" and walked.config.parallel):
            known.append(walked.tensors["resid_pre"])
        for piece in (*made.before, *made.after):
            assert len(piece.values) == N
            assert len(piece.axes) == len(piece.shape)


def test_the_frames_of_a_head_hold_its_own_query_key_and_value(model):
    walked = walk(model, text(), 1)
    for head in (2, 5):
        made = stage_tensors(walked, "heads", head)
        for piece, own in zip(made.before, made.after, strict=True):
            first, end = (place - piece.first for place in piece.framed)
            np.testing.assert_array_equal(piece.values[:, first:end], own.values)
        whole = stage_tensors(walked, "concat", head).made
        first, end = whole.framed
        np.testing.assert_array_equal(whole.values[:, first:end], walked.tensors["attn.z"][head])
    for stage in {"qk-norm", "rotation", "scores"} & {*names(model)}:
        assert [piece.role for piece in stage_tensors(walked, stage, 2).before] == ["query", "key"]


def test_every_stage_has_a_finding_with_numbers(model):
    walked, words = walk(model, text(), 0), [f"t{i}" for i in range(N)]
    for head in (0, 5):
        for stage in names(model, 0):
            if stage not in TEXT_ALONE:
                found = str(stage_finding(walked, stage_tensors(walked, stage, head), stage, words))
                assert any(letter.isdigit() for letter in found), stage
                assert "nan" not in found
                assert found.endswith(".")


def test_costs_add_up_to_what_the_accounting_says(model):
    """Parameters of all stages of all layers are the model's; matrix products are those of flop_count."""
    c = model.config
    inside, ends = 0, 0
    products = 0
    tables = [weight.numel() for name, weight in model.named_parameters() if "relative_" in name]  # which layers share
    for layer in range(c.n_layers):
        for stage in walk_stages(c, layer):
            cost = stage_cost(c, stage.name, N)
            in_block = stage.part in ("attention", "feed-forward")
            inside += cost.parameters - sum(tables) * (stage.name == "bias") if in_block else 0
            if layer == 0 and not in_block and not (stage.name == "logits" and c.tie_embeddings):
                ends += cost.parameters
            if cost.product and (in_block or layer == 0):
                products += cost.flops
    assert inside + ends + sum(tables) == parameters(c).total == sum(p.numel() for p in model.parameters())
    assert products == flops(c, N).sequence


def test_the_share_of_the_feed_forward_layer_is_that_of_the_weights(model):
    """By the weights of the built model; two thirds is one model's share and not every one's."""
    for layer in range(model.config.n_layers):
        inside = [(name, weight.numel()) for name, weight in model.named_parameters() if f".blocks.{layer}." in name]
        feed_forward = sum(count for name, count in inside if ".mlp." in name)
        assert feed_forward_share(model.config, layer) == pytest.approx(feed_forward / sum(n for _, n in inside))


def test_what_an_activation_leaves_is_counted_one_by_one():
    before = np.array([[-2.0, 0.5, 3.0, 0.0], [1.0, -1.0, -0.5, 0.2]])
    after = np.array([[0.0, 0.2, 3.0, 0.01], [1.0, -0.3, 0.09, -2.0]])
    usual = (sum(value**2 for value in after.flat) / after.size) ** 0.5
    found = activity(before, after)
    assert found.values["positive"] == sum(value > 0 for value in before.flat) / 8
    assert found.values["near_zero"] == sum(abs(value) < usual / 10 for value in after.flat) / 8 == 3 / 8
    assert found.values["large"] == sum(abs(value) > usual for value in after.flat) / 8 == 2 / 8


def test_candidates_are_the_best_and_their_probabilities_those_of_all_ids():
    model = small.model()
    walked = walk(model, text(), 0)
    logits = model(torch.tensor([text()])).logits[0]
    expected = logits.softmax(-1)
    assert walked.candidates.tolist() == logits[-1].topk(CANDIDATES).indices.tolist()
    np.testing.assert_allclose(walked.probabilities, expected[:, walked.candidates], atol=1e-6)
    hidden = walk(model, text(), 0, position=3)
    assert hidden.candidates[0] == logits[3].argmax()


def test_the_mask_is_the_one_the_model_uses():
    for values in ({}, {"window": 4}, {"architecture": "encoder", "window": 3}, {"architecture": "encoder"}):
        model = small.model(**values)
        pattern = walk(model, text(), 1).tensors["attn.pattern"]
        assert np.array_equal((pattern > 0).all(0), allowed(model.config, 1, N).numpy())


def test_stages_follow_the_config():
    plain = names(small.model())
    assert "rotation" in plain
    assert "positions" not in plain
    assert plain.index("norm-1") < plain.index("qkv")
    post = names(small.model(norm_placement="post", positions="learned"))
    assert post.index("norm-1") == post.index("add-1") + 1
    assert "final-norm" not in post
    assert "positions" in post
    assert "mask" not in names(small.model(architecture="encoder", head="mlm"))
    assert not {"norm-2", "up", "down"} & set(names(small.model(d_ff=0)))
    routed = small.config(experts=ExpertsConfig(n_experts=4, top_k=2), dense_layers=1)
    assert ["up" in {s.name for s in walk_stages(routed, layer)} for layer in (0, 1)] == [True, False]


def test_what_cannot_be_walked_is_refused():
    with pytest.raises(ValueError, match="one stack"):
        walk_stages(small.config(architecture="encoder-decoder"), 0)
    with pytest.raises(ValueError, match="layer=2"):
        walk_stages(small.config(), 2)
    walked = walk(small.model(), text(), 0)
    with pytest.raises(ValueError, match="stage='positions'"):
        stage_tensors(walked, "positions", 0)
    for head in (-1, 6):
        with pytest.raises(ValueError, match=f"head={head} must be between 0 and 5"):
            stage_tensors(walked, "softmax", head)


def test_the_head_that_looks_most_from_word_to_word_is_walked_through_first():
    model, tokenizer = tfcore.load("stories")
    ids = tokenizer.encode("The dog ran and the cat sat. The dog")
    patterns = model.activations(torch.tensor([ids]), "blocks.*.attn.pattern")
    named = tokenizer.tokens(ids)
    _, best = max(
        (float(patterns[f"blocks.{layer}.attn.pattern"][0, head, query, key]), (layer, head))
        for layer in range(4)
        for head in range(6)
        for query in range(len(ids))
        for key in range(1, query - 1)
        if named[query].strip().isalpha() and named[key].strip().isalpha()
    )
    assert first_head(model, tokenizer, "The dog ran and the cat sat. The dog", 32) == best
    assert first_head(model, tokenizer, "dog", 32) == (3, 0)


def test_one_token_is_enough():
    model = small.model()
    walked = walk(model, [3], 0)
    for stage in names(model, 0):
        if stage not in TEXT_ALONE:
            assert str(stage_finding(walked, stage_tensors(walked, stage, 0), stage, ["a"]))
