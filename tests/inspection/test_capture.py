"""Recording changes nothing; edits change one pass and nothing else."""

import re

import pytest
import torch
from torch import Tensor

from tests.other_device import needs_the_cpu
from tests.small import difference, ids, kinds, model
from tfcore.inspection.capture import known_names, layer_of
from tfcore.inspection.edits import Edit
from tfcore.part_configs import ExpertsConfig


def test_capturing_everything_changes_nothing():
    for kind in kinds(n_kv_heads=(2,), norm_placement=("pre", "post"), activation=("swiglu", "gelu")):
        subject = model(**kind)
        assert difference(subject(ids(), capture="*").logits, subject(ids()).logits) < 1e-5, kind


SIZES = {"batch": 2, "d_model": 24, "d_head": 4, "head": 6, "kv_head": 3, "d_ff": 40, "1": 1, "expert": 4, "choice": 2}
SIZES["d_embed"] = 10
EXPERTS = ExpertsConfig(n_experts=4, top_k=2, d_expert=16)
KINDS = {
    "decoder": {"positions": "rope"},
    "encoder": {"architecture": "encoder", "positions": "learned", "embed_norm": True, "n_segments": 2},
    "narrow embeddings": {
        "architecture": "encoder",
        "head": "mlm",
        "positions": "learned",
        "embed_norm": True,
        "d_embed": 10,
    },
    "both": {"architecture": "encoder-decoder", "positions": "relative", "n_encoder_layers": 3},
    "post": {"norm_placement": "post", "norm": "layernorm", "activation": "relu", "positions": "sinusoidal"},
    "sandwich": {"norm_placement": "sandwich", "architecture": "encoder-decoder", "qk_norm": True},
    "parallel": {"parallel": True, "bias": True, "norm": "layernorm"},
    "attention only": {"d_ff": 0, "positions": "none"},
    "attention only, with cross": {"d_ff": 0, "positions": "alibi", "architecture": "encoder-decoder"},
    "experts": {"experts": EXPERTS},
    "experts after a plain layer": {"experts": EXPERTS, "dense_layers": 1, "architecture": "encoder-decoder"},
}


def run(subject, **options):
    """A forward pass of a model of any architecture."""
    if subject.config.architecture == "encoder-decoder":
        options["decoder_ids"] = ids(2, 7, seed=1)
    return subject(ids(), **options)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_known_name_comes_with_the_shape_it_says(kind):
    subject = model(**({"n_kv_heads": 3, "d_ff": 40} | kind))
    activations = run(subject, capture="*").activations
    assert sorted(activations) == sorted(known_names(subject.config))
    for name, value in activations.items():
        own = 7 if name.startswith("decoder.") else 13
        key = 13 if ".cross_attn." in name else own
        sizes = SIZES | {"seq": own, "query": own, "key": key}
        assert value.shape == tuple(sizes[axis] for axis in known_names(subject.config)[name].split()), name
        assert value.isfinite().all(), name


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_capturing_everything_changes_nothing_in_any_architecture(kind):
    subject = model(**kind)
    assert difference(run(subject, capture="*").logits, run(subject).logits) < 1e-4


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_model_of_one_stack_also_answers_to_the_name_of_its_stack(architecture):
    subject = model(architecture=architecture)
    names = (f"{architecture}.blocks.*.attn.pattern", "*.resid_pre")
    longer = subject(ids(), capture=names, edits=[Edit.zero(f"{architecture}.blocks.0.mlp_out")]).activations
    plain = subject(ids(), capture=("*.pattern", "*.resid_pre"), edits=[Edit.zero("blocks.0.mlp_out")]).activations
    assert set(longer) == {f"{architecture}.{name}" for name in plain}
    assert all(torch.equal(longer[f"{architecture}.{name}"], value) for name, value in plain.items())
    with pytest.raises(ValueError, match=f"for example, {architecture}.blocks.0.attn.pattern and"):
        subject(ids(), capture=(*names, "blocks.0.mlp.pre"))


@pytest.mark.parametrize("name", ["result", "scale"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_an_edit_that_changes_nothing_changes_nothing(kind, name):
    subject = model(**kind)
    edited = run(subject, edits=[Edit(f"*.{name}", lambda value: value)])
    assert difference(edited.logits, run(subject).logits) < 1e-4


def test_the_results_of_the_heads_add_up_to_what_attention_adds():
    a = model(bias=False)(ids(), capture="*").activations
    assert difference(a["blocks.1.attn.result"].sum(2), a["blocks.1.attn_out"]) < 1e-5
    one = model()(ids(), capture="*", edits=[Edit.zero("blocks.1.attn.result", heads=[0, 1, 2, 4, 5])]).activations
    assert difference(one["blocks.1.attn_out"], a["blocks.1.attn.result"][:, :, 3]) < 1e-5


def test_the_scale_is_what_the_vector_was_divided_by():
    a = model(norm="layernorm")(ids(), capture="*").activations
    x = a["blocks.1.resid_pre"]
    assert difference((x - x.mean(-1, keepdim=True)) / a["blocks.1.ln1.scale"], a["blocks.1.ln1.normalized"]) < 1e-5


def test_activations_fit_together():
    a = model(n_kv_heads=6)(ids(), capture="*").activations
    for i in range(2):
        block = {name.removeprefix(f"blocks.{i}."): value for name, value in a.items()}
        assert difference(block["resid_mid"], block["resid_pre"] + block["attn_out"]) < 1e-6
        assert difference(block["resid_post"], block["resid_mid"] + block["mlp_out"]) < 1e-6
        assert difference(block["attn.scores"], block["attn.rot_q"] @ block["attn.rot_k"].mT / 2) < 1e-5
        assert difference(block["attn.z"], block["attn.pattern"] @ block["attn.v"]) < 1e-5
    assert torch.equal(a["blocks.0.resid_post"], a["blocks.1.resid_pre"])


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("blocks.1.attn.pattern", ["blocks.1.attn.pattern"]),
        (("blocks.*.mlp.post",), ["blocks.0.mlp.post", "blocks.1.mlp.post"]),
        (["embed", "blocks.[1].resid_p*"], ["blocks.1.resid_post", "blocks.1.resid_pre", "embed"]),
        ((), []),
    ],
)
def test_patterns_choose_names(patterns, names):
    assert sorted(model()(ids(), capture=patterns).activations) == names


def test_a_name_that_is_not_there_is_refused():
    for options in ({"capture": ["blocks.2.attn.pattern"]}, {"edits": [Edit("attn", lambda x: x)]}):
        with pytest.raises(ValueError, match=r"no activation is called '.*' in this model of 2 layers; there are"):
            model()(ids(), **options)


def zero(value: Tensor) -> Tensor:
    return value.zero_()  # in place, on purpose


def test_zeroing_a_head_is_taking_its_part_of_the_output_matrix_away():
    edited, cut = model(), model()
    cut.decoder.blocks[1].attn.out.weight[:, 8:12] = 0  # head 2 writes through these columns
    output = edited(ids(), edits=[Edit("blocks.1.attn.z", zero, heads=(2,))])
    assert difference(output.logits, cut(ids()).logits) < 1e-5
    assert difference(output.logits, edited(ids()).logits) > 1e-3


def test_edits_do_not_leak_into_weights_other_records_or_the_next_pass():
    for name in ("embed", "pos_embed", *(f"blocks.1.{n}" for n in ("resid_pre", "attn.pattern", "attn.v", "mlp.post"))):
        subject = model(positions="learned")
        weights = {key: value.clone() for key, value in subject.state_dict().items()}
        before = subject(ids(), capture="*")
        edited = subject(ids(), capture="*", edits=[Edit(name, zero)])
        after = subject(ids(), capture="*")
        assert torch.equal(before.logits, after.logits), name
        assert difference(before.logits, edited.logits) > 1e-4, name
        assert all(torch.equal(value, weights[key]) for key, value in subject.state_dict().items()), name
        assert edited.activations[name].count_nonzero() == 0, name
        if name.startswith("blocks.1."):
            untouched = [other for other in before.activations if other.startswith("blocks.0.")]
            assert all(torch.equal(before.activations[o], edited.activations[o]) for o in untouched), name


def test_an_edit_of_the_pattern_or_scores_is_used():
    def diagonal(value: Tensor) -> Tensor:
        return torch.eye(13).expand_as(value)

    a = model()(ids(), capture="*", edits=[Edit("blocks.*.attn.pattern", diagonal, heads=(0, 3))]).activations
    assert torch.equal(a["blocks.0.attn.z"][:, 3], a["blocks.0.attn.v"][:, 3])
    assert not torch.equal(a["blocks.0.attn.z"][:, 1], a["blocks.0.attn.v"][:, 1])
    a = model()(ids(), capture="*", edits=[Edit("blocks.0.attn.scores", torch.zeros_like)]).activations
    assert difference(a["blocks.0.attn.pattern"][0, 0, 3, :4], torch.full((4,), 0.25)) < 1e-6


REFUSED = {
    "blocks.0.resid_pre has no heads (batch seq d_model); leave heads=(0,) out of its edit": Edit(
        "blocks.0.res*pre", zero, heads=(0,)
    ),
    "heads=(6,) of 'blocks.0.attn.z' must be between 0 and 5": Edit("blocks.0.attn.z", zero, heads=(6,)),
    "the edit of 'embed' made (2, 13, 24) into (2, 13); keep the shape": Edit("embed", lambda x: x.sum(-1)),
}


@pytest.mark.parametrize(("message", "edit"), REFUSED.items(), ids=list(REFUSED))
def test_an_edit_that_does_not_fit_is_refused(message, edit):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model()(ids(), edits=[edit])


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        ("embed", 0),
        (("blocks.0.attn.pattern", "embed"), 1),
        ("decoder.blocks.1.resid_post", 2),
        ("blocks.[01].mlp.*", 2),
        ("blocks.*.attn.z", 4),
        ("ln_final.*", 4),
    ],
)
def test_activations_alone_are_those_of_a_whole_pass_and_no_block_above_them_runs(names, runs):
    subject = model(n_layers=4)
    whole = subject(ids(), capture=names).activations
    ran = []
    for i, block in enumerate(subject.decoder.blocks):
        block.register_forward_hook(lambda *_, i=i: ran.append(i))
    found = subject.activations(ids(), names)
    assert ran == list(range(runs))
    assert found.keys() == whole.keys()
    assert all(torch.equal(found[name], whole[name]) for name in whole)


def test_activations_alone_take_a_mask():
    see = torch.ones(13, 13, dtype=torch.bool).tril().logical_and(torch.arange(13) != 2)
    see[2, 2] = True
    names = ("blocks.*.attn.scores", "blocks.*.attn.pattern")
    whole = model()(ids(), mask=see, capture=names).activations
    assert all(torch.equal(value, whole[name]) for name, value in model().activations(ids(), names, mask=see).items())


def test_activations_alone_take_edits_and_padding():
    subject, edit = model(), Edit.zero("blocks.0.attn.z", heads=[1])
    mask = torch.ones_like(ids(), dtype=torch.bool)
    mask[0, -2:] = False
    options = {"edits": [edit], "padding_mask": mask}
    assert torch.equal(
        subject.activations(ids(), "blocks.1.resid_post", **options)["blocks.1.resid_post"],
        subject(ids(), capture="blocks.1.resid_post", **options).activations["blocks.1.resid_post"],
    )


@pytest.mark.parametrize(
    ("subject", "given", "message"),
    [
        (model(), {"names": "blocks.9.attn.z"}, "no activation is called 'blocks.9.attn.z'"),
        pytest.param(model(), {"names": "embed", "ids": torch.full((1, 4), 10_000)}, "ids", marks=needs_the_cpu),
        (model(architecture="encoder-decoder"), {"names": "*"}, "give decoder_ids, too"),
    ],
)
def test_activations_that_cannot_be_had_are_refused(subject, given, message):
    with pytest.raises(ValueError, match=message):
        subject.activations(**{"ids": ids(), **given})


def test_the_layer_of_an_activation():
    assert [layer_of(name) for name in ("blocks.12.attn.z", "encoder.blocks.3.mlp_out")] == [12, 3]
    with pytest.raises(ValueError, match="blocks"):
        layer_of("embed")
