"""Recording changes nothing; edits change one pass and nothing else."""

import re

import pytest
import torch
from torch import Tensor

from tests.small import difference, ids, kinds, model
from tfcore.capture import SHAPES, Edit, known_names


def test_capturing_everything_changes_nothing():
    for kind in kinds(n_kv_heads=(2,), norm_placement=("pre", "post"), activation=("swiglu", "gelu")):
        subject = model(**kind)
        assert difference(subject(ids(), capture="*").logits, subject(ids()).logits) < 1e-5, kind


def test_every_name_of_the_table_comes_with_the_shape_the_table_says():
    subject = model(positions="learned", n_kv_heads=3, d_ff=40)
    activations = subject(ids(2, 13), capture="*").activations
    assert sorted(activations) == sorted(known_names(2))
    sizes = {"batch": 2, "seq": 13, "query": 13, "key": 13, "d_model": 24, "d_head": 4, "head": 6, "kv_head": 3}
    for name, value in activations.items():
        axes = SHAPES[name.replace("blocks.0.", "blocks.*.").replace("blocks.1.", "blocks.*.")].split()
        assert value.shape == tuple({**sizes, "d_ff": 40}[axis] for axis in axes), name
        assert value.isfinite().all(), name


def test_activations_fit_together():
    a = model(n_kv_heads=6)(ids(), capture="*").activations
    for i in range(2):
        block = {name.removeprefix(f"blocks.{i}."): value for name, value in a.items()}
        assert difference(block["resid_mid"], block["resid_pre"] + block["attn_out"]) < 1e-6
        assert difference(block["resid_post"], block["resid_mid"] + block["mlp_out"]) < 1e-6
        assert difference(block["attn.scores"], block["attn.q"] @ block["attn.k"].mT / 2) < 1e-5
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
        with pytest.raises(ValueError, match=r"no activation is called '.*' in a model of 2 layers; there are"):
            model()(ids(), **options)


def zero(value: Tensor) -> Tensor:
    return value.zero_()  # in place, on purpose


def test_zeroing_a_head_is_taking_its_part_of_the_output_matrix_away():
    edited, cut = model(), model()
    cut.blocks[1].attn.out.weight[:, 8:12] = 0  # head 2 writes through these columns
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
