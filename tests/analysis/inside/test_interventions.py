"""Switching parts off and patching, against edits written out by hand, and as TransformerLens defines them."""

from contextlib import suppress

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.analysis.inside.activation_patching import (
    first_row_read_at_the_end,
    pair,
    patch,
    patch_row,
    patched_names,
    source_values,
)
from tfcore.analysis.inside.interventions import (
    Part,
    ablate_each_part,
    changed,
    continue_text,
    edits_for,
    effect,
    parts_of,
    read_parts,
)
from tfcore.analysis.inside.logit_attribution import contributions, stream_parts
from tfcore.generation.generate import generate
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load

TEXT = small.ids(1, 9)[0].tolist()
CONFIG = small.config()
OTHER = [*TEXT[:3], (TEXT[3] + 1) % 61, *TEXT[4:]]


def logits(model, ids, *edits):
    return model(torch.tensor([list(ids)]), edits=edits).logits[0]


@pytest.mark.parametrize("values", [{}, {"d_ff": 0}, {"n_kv_heads": 2, "parallel": True}])
def test_every_part_of_a_layer_is_switched_off_in_turn(values):
    model = small.model(**values)
    targets = torch.tensor(TEXT[1:])
    plain = logits(model, TEXT)
    best = int(plain[-1].argmax())
    names = {Part(1, head): ("blocks.1.attn.z", [head]) for head in range(6)} | {
        Part(1, None): ("blocks.1.mlp_out", None)
    }
    for action, edit in (("zero", Edit.zero), ("mean", Edit.mean)):
        found = ablate_each_part(model, TEXT, 1, action)
        assert len(found.loss) == len(parts_of(model.config)[1]) == (6 if values.get("d_ff") == 0 else 7)
        for i, part in enumerate(parts_of(model.config)[1]):
            name, heads = names[part]
            off = logits(model, TEXT, edit(name, heads=heads))
            loss = F.cross_entropy(off[:-1], targets) - F.cross_entropy(plain[:-1], targets)
            guess = plain[-1].log_softmax(-1)[best] - off[-1].log_softmax(-1)[best]
            assert found.loss[i] == pytest.approx(float(loss), abs=1e-5)
            assert found.guess[i] == pytest.approx(float(guess), abs=1e-5)


def test_a_head_scaled_is_what_it_writes_times_the_factor():
    model = small.model()
    edits = edits_for(model, TEXT, [Part(0, 2)], "scale", -1.5)
    kept = model(torch.tensor([TEXT]), capture=("blocks.0.attn.result", "blocks.0.attn_out")).activations
    after = model(torch.tensor([TEXT]), capture=("blocks.0.attn_out",), edits=edits).activations["blocks.0.attn_out"]
    expected = kept["blocks.0.attn_out"] - 2.5 * kept["blocks.0.attn.result"][:, :, 2]
    torch.testing.assert_close(after, expected, atol=1e-5, rtol=1e-4)


def test_only_one_token_is_edited_where_that_is_asked_for():
    model = small.model()
    off = logits(model, TEXT, *edits_for(model, TEXT, [Part(1, None)], "zero", positions=[4]))
    same = (off == logits(model, TEXT)).all(-1).tolist()
    assert same == [i != 4 for i in range(9)]  # of the last layer: nobody reads it after that


def test_the_mean_stays_the_one_of_the_text_while_it_is_continued():
    """A pass with a cache has one new token, whose own mean would change nothing at all."""
    model, part = small.model(), Part(0, 3)
    held = model(torch.tensor([TEXT]), capture=("blocks.0.attn.z",)).activations["blocks.0.attn.z"][0, 3].mean(0)
    text = list(TEXT)
    for _ in range(5):
        edit = Edit.replace("blocks.0.attn.z", held, heads=[3])
        text.append(int(logits(model, text, edit)[-1].argmax()))
    assert continue_text(model, TEXT, edits_for(model, TEXT, [part], "mean"), 5) == text[9:]


def test_without_edits_the_text_goes_on_as_ever():
    model = small.model()
    assert continue_text(model, TEXT, [], 6) == generate(model, TEXT, max_new_tokens=6, temperature=0)
    assert edits_for(model, TEXT, (), "mean") == []


def test_parts_are_read_as_they_are_written():
    config = small.config()
    assert read_parts(" 1.FF,0.3  0.3;0.1", config) == (Part(0, 1), Part(0, 3), Part(1, None))
    assert read_parts(" \n", config) == ()
    assert [str(part) for part in read_parts("0.ff 1.5", config)] == ["0.ff", "1.5"]


@given(st.text(st.sampled_from("01.f,;x \n²\0"), max_size=12))
def test_no_text_is_anything_but_parts_or_one_sentence(said):
    parts = ()
    with suppress(ValueError):
        parts = read_parts(said, CONFIG)
    assert all(part in parts_of(CONFIG)[part.layer] for part in parts)


def test_a_word_that_is_no_part_gets_an_answer():
    with pytest.raises(ValueError, match=r"'2\.0' is no part .* possible: 0\.0, 0\.1 \.\.\. 1\.ff"):
        read_parts("0.1 2.0", CONFIG)


def test_new_tokens_are_marked():
    assert changed([1, 2, 3, 4], [1, 9, 3, 4]) == [False, True, False, False]
    assert changed([1, 2, 3], [1, 2, 3]) == [False] * 3
    assert changed([1, 2, 3], [7, 1, 2]) == [True, False, False]
    assert changed([], [5]) == [True]


@pytest.mark.parametrize("kind", ["residual", "attention", "feed-forward"])
def test_a_row_of_patches_is_a_loop_over_positions(kind):
    """As get_act_patch_resid_pre, _attn_out and _mlp_out of TransformerLens: run the corrupted text, at one position
    put in the clean run's activation, and measure the logit difference on the scale from corrupted to clean."""
    model = small.model()
    both = pair(model, TEXT, OTHER)
    assert both.differing == (3,)
    clean, corrupted = (logits(model, ids)[-1] for ids in (TEXT, OTHER))
    lead = clean.softmax(-1) - corrupted.softmax(-1)
    assert both.answers == (int(lead.argmax()), int(lead.argmin()))
    mine, theirs = both.answers
    for name in patched_names(model.config, kind):
        cache = model(torch.tensor([TEXT]), capture=(name,)).activations[name]
        row = patch_row(model, both, name)
        for position in range(9):
            edit = Edit.replace(name, cache[:, position : position + 1], positions=[position])
            patched = logits(model, OTHER, edit)[-1]
            base = float(corrupted[mine] - corrupted[theirs])
            whole = float(clean[mine] - clean[theirs])
            share = (float(patched[mine] - patched[theirs]) - base) / (whole - base)
            assert row[position] == pytest.approx(share, abs=1e-4)
    found = effect(model, OTHER, [patch(source_values(model, both, name), name, 8)], 8)
    np.testing.assert_allclose(found.after, patched.softmax(-1), atol=1e-6)


def test_patching_explains_who_sam_is():
    """The default example: the difference is at the word "boy" until attention 2 carries it to the last token."""
    model, tokenizer = load("stories", device="cpu")
    source, target = (
        tokenizer.encode(f"There was a little {child}. One day, Sam said that") for child in ("girl", "boy")
    )
    both = pair(model, source, target)
    assert tokenizer.tokens(list(both.answers)) == [" she", " he"]
    assert both.differing == (4,)
    stream = np.stack([patch_row(model, both, name) for name in patched_names(model.config, "residual")])
    assert stream[:3, 4].min() > 0.9
    assert stream[3:, 4].max() < 0.1
    assert stream[:3, -1].max() < 0.1
    assert stream[3:, -1].min() > 0.85
    attention = np.stack([patch_row(model, both, name) for name in patched_names(model.config, "attention")])
    assert attention[:, -1].argmax() == 2
    assert attention[2, -1] > 0.8


@pytest.mark.parametrize(("source", "message"), [(TEXT, "the same"), (TEXT[:5], "5 and 9 tokens")])
def test_pairs_that_cannot_be_patched_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        pair(small.model(), source, TEXT)


def test_where_patching_the_last_position_brings_most():
    assert first_row_read_at_the_end(np.array([[0.9, 0.1, 0.0], [0.2, 0.1, 0.7], [0.0, 0.0, 1.0]])) == 1
    assert first_row_read_at_the_end(np.array([[0.9, 0.1], [0.8, 0.2]])) is None


def test_what_the_pages_say_of_single_parts_of_stories():
    """Skipping attention 3 or 0 in the example of the ball, and both ablations of head 0.3 in that of Sam."""
    model, tokenizer = load("stories")
    text = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
    ids, (ball,) = tokenizer.encode(text), tokenizer.encode(" ball")
    left = {layer: effect(model, ids, [Edit.zero(f"blocks.{layer}.attn_out")], len(ids) - 1).after for layer in (0, 3)}
    assert f"{left[3][ball]:.0%} {left[0][ball]:.0%}" == "57% 3%"
    assert left[3].argmax() == ball
    parts = contributions(model, stream_parts(model, ids, len(ids) - 1), ball, "mean")
    attention = parts.heads.sum(1)
    assert attention.argmax() == 3
    assert attention[3] > parts.feedforward.max()
    assert attention[0] / attention[3] == pytest.approx(1 / 3, abs=0.05)
    sam = tokenizer.encode("There was a little boy. One day, Sam said that")
    zero, mean = (ablate_each_part(model, sam, 0, action).guess[3] for action in ("zero", "mean"))
    assert zero > 2 * mean > 1
