"""Three measures of heads, each against a computation written apart, and the sentence that compares them."""

import dataclasses

import numpy as np
import pytest
import torch

from tfcore.analysis.inside import head_measures
from tfcore.analysis.inside.information_flow import read_flow
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load

PRONOUN = "Sam was a little boy. One day, Sam said that"


def test_what_a_head_carries_is_the_sum_of_its_routes_between_tokens():
    model, tokenizer = load("stories")
    flow = read_flow(model, tokenizer, PRONOUN, 40, 0.0, "")
    found = head_measures.carried_by_head(flow, 4, 6)
    one = [r.share for r in flow.routes if (r.layer, r.head) == (2, 5) and r.key < r.query]
    assert found[2, 5] == pytest.approx(sum(one))
    assert found.sum() == pytest.approx(sum(r.share for r in flow.routes if r.key != r.query))


def test_direct_shares_are_what_heads_write_through_the_frozen_norm():
    model, tokenizer = load("stories")
    ids = tokenizer.encode(PRONOUN)
    token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
    found = head_measures.direct_by_head(model, tokenizer, PRONOUN, 40, token)
    run = model(torch.tensor([ids]), capture=["blocks.2.attn.z", "ln_final.scale"]).activations
    w_o = model.decoder.blocks[2].attn.out.weight  # (d_model, head · d_head)
    width = model.config.head_size
    written = w_o[:, 5 * width : 6 * width] @ run["blocks.2.attn.z"][0, 5, -1]  # (batch, head, query, d_head)
    unembed = model.embed.weight  # tied
    normed = written / run["ln_final.scale"][0, -1] * model.decoder.ln_final.weight
    expected = float(normed @ (unembed[token] - unembed.mean(0)))
    assert found is not None
    assert found[2, 5] == pytest.approx(expected, abs=1e-4)


def test_a_post_norm_model_has_no_direct_shares():
    model, tokenizer = load("stories")
    model.config = dataclasses.replace(model.config, norm_placement="post")
    assert head_measures.direct_by_head(model, tokenizer, PRONOUN, 40, 0) is None


def test_the_head_whose_absence_costs_most_is_named():
    model, tokenizer = load("stories")
    ids = torch.tensor([tokenizer.encode(PRONOUN)])
    best = model(ids).logits[0, -1].log_softmax(-1)
    token = int(best.argmax())
    effects = np.zeros((4, 6))
    for layer in range(4):
        for head in range(6):
            off = model(ids, edits=[Edit.zero(f"blocks.{layer}.attn.z", heads=[head])])
            effects[layer, head] = float(best[token] - off.logits[0, -1].log_softmax(-1)[token])
    carried, direct = np.zeros((4, 6)), np.zeros((4, 6))
    carried[2, 5], direct[3, 0] = 0.2, 1.5
    found = head_measures.compare("he", carried, direct, effects, is_exact=True)
    layer, head = divmod(int(effects.argmax()), 6)
    assert found.effect == (f"{layer}.{head}", effects.max())
    assert f"without head {layer}.{head} its log-probability falls most, by {effects.max():.2f} nats (measured)" in str(
        found
    )
    assert "Head 2.5 carries most of the state from token to token, 20%" in str(found)
    assert "head 3.0 writes most of the logit of 'he' itself, +1.50" in str(found)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([(0, 1), (0, 1), (0, 1)], "The three measures agree on the first head."),
        ([(0, 1), (0, 1), (1, 1)], "The measures name two heads"),
        ([(0, 0), (0, 1), (1, 1)], "The measures name three heads"),
    ],
)
def test_where_they_disagree_a_sentence_says_so(places, words):
    matrices = [np.zeros((2, 2)) for _ in places]
    for matrix, place in zip(matrices, places, strict=True):
        matrix[place] = 1.0
    assert words in str(head_measures.compare("x", *matrices, is_exact=False))
    assert "(partly estimated)" in str(head_measures.compare("x", *matrices, is_exact=False))
