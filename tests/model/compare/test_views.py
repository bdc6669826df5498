"""Two models compared: numbers against transformers, hooks and loops written apart; sentences; what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers as hf

import tfcore
from tests.nightly import nightly
from tests.real import real
from tfcore.charts import theme
from tfcore.measures.text_loss import text_bits
from tfcore.views.model import compare as views
from tfcore.views.model.compare import say
from tfcore.views.model.compare.measure import attention, spans, weights
from tfcore.views.model.compare.measure.exchanged import ExchangedStreams
from tfcore.views.sources import Reading

TEXT = "Once upon a time there was a little dog named Max. Max had a red ball."
LAYERS = 3


@pytest.fixture(scope="module")
def pair():
    """Two models of transformers with random weights, and both as ours with the tokenizer of `stories`."""
    tokenizer = tfcore.load("stories")[1]
    settings = hf.LlamaConfig(
        vocab_size=2048,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=LAYERS,
        num_attention_heads=6,
        num_key_value_heads=3,
        head_dim=10,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    theirs = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        model = hf.LlamaForCausalLM(settings).eval()
        for one in model.parameters():
            torch.nn.init.normal_(one, std=0.4)
        theirs.append(model)
    ours = [(tfcore.from_transformers(model)[0], tokenizer) for model in theirs]
    return theirs, ours


@torch.no_grad()
def log_probabilities(model, ids, **more):
    return model(torch.tensor([ids]), **more).logits[0].double().log_softmax(-1)


def kl(first, second):
    return (first.exp() * (first - second)).sum(-1).numpy()


def test_divergence_and_surprise_are_those_of_transformers(pair):
    theirs, ours = pair
    ids = ours[0][1].encode(TEXT)
    logs = [log_probabilities(model, ids) for model in theirs]
    shown = views.tokens(Reading(ours[0], TEXT), other=ours[1], token=2)
    read = shown.result
    assert np.allclose(read.kl, kl(*logs), atol=1e-3)
    for row, one in zip(read.surprise, logs, strict=True):
        assert math.isnan(row[0])
        assert np.allclose(row[1:], [-float(one[i, after]) for i, after in enumerate(ids[1:])], atol=1e-4)
    for place in (0, len(ids) - 1):
        best = torch.maximum(logs[0][place], logs[1][place]).topk(8).indices.tolist()
        assert read.likeliest[place].tolist() == best
        for row, one in zip(read.probabilities[place], logs, strict=True):
            assert np.allclose(row, one[place][read.likeliest[place].tolist()].exp(), atol=1e-5)
    at = int(kl(*logs).argmax())
    found = say.predictions_apart(read, ("A", "B"))
    assert str(found) == str(shown).replace("a model of your own", "A", 1).replace("a model of your own", "B", 1)
    assert found.token == read.tokens[at]
    assert found.mean == pytest.approx(kl(*logs).mean(), rel=1e-3)
    falling = sorted(kl(*logs), reverse=True)
    assert sum(falling[: found.half]) >= sum(falling) / 2 > sum(falling[: found.half - 1])
    theme.check(shown.chart)


def test_streams_exchanged_are_those_of_a_hook(pair):
    theirs, ours = pair
    ids = ours[0][1].encode(TEXT)
    with torch.no_grad():
        states = theirs[0](torch.tensor([ids]), output_hidden_states=True).hidden_states
    first, blocks = log_probabilities(theirs[0], ids), theirs[1].model.layers
    read = views.streams(Reading(ours[0], TEXT), other=ours[1], token=1).result
    for place in range(LAYERS):
        hook = blocks[place].register_forward_pre_hook(lambda _, given, at=place: (states[at], *given[1:]))
        assert np.allclose(read.kl[place], kl(first, log_probabilities(theirs[1], ids)), atol=1e-3)
        hook.remove()
    assert np.allclose(read.unchanged, kl(first, log_probabilities(theirs[1], ids)), atol=1e-3)
    assert read.kl.shape == (LAYERS + 1, len(ids))


def test_maps_are_compared_as_in_a_loop(pair):
    theirs, ours = pair
    ids = ours[0][1].encode(TEXT)
    with torch.no_grad():
        maps = [model(torch.tensor([ids]), output_attentions=True).attentions for model in theirs]
    read = views.heads(Reading(ours[0], TEXT), other=ours[1], layer=1, head=2).result
    for layer, head in ((0, 0), (2, 5)):
        rows = zip(*(one[layer][0, head] for one in maps), strict=True)
        elsewhere = [sum(abs(float(a) - float(b)) for a, b in zip(*row, strict=True)) / 2 for row in rows]
        assert read.distance[layer, head] == pytest.approx(sum(elsewhere) / len(ids), abs=2e-3)
    shown = views.second_map(Reading(ours[0], TEXT), other=ours[1], layer=1, head=2)
    assert np.allclose(shown.result, maps[1][1][0, 2], atol=1e-3)
    hidden = views.first_map(Reading(ours[0], TEXT, hide_sink=True), other=ours[1], layer=1, head=2).result
    without = maps[0][1][0, 2][1:, 1:].numpy()
    assert np.allclose(hidden[1:, 1:], without / without.sum(1, keepdims=True), atol=2e-3)
    assert not hidden[:, 0].any()


def test_norm_and_rank_are_those_of_singular_values(pair):
    _, ours = pair
    read = views.moved(ours[0], other=ours[1]).result
    a, b = (model.decoder.blocks[2].mlp.down.weight.detach().numpy().astype(np.float64) for model, _ in ours)
    values = np.linalg.svd(b - a, compute_uv=False)
    column = read.kinds.index("down")
    assert read.norms[2, column] == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-4)
    assert read.ranks[2, column] == pytest.approx((values**2).sum() ** 2 / (values**4).sum(), rel=1e-4)
    assert read.full[column] == 24
    assert np.isfinite(views.ranks(ours[0], other=ours[1]).chart.data[0].z).all()


def test_an_effective_rank_counts_equal_directions():
    generator = torch.Generator().manual_seed(0)
    left, _ = torch.linalg.qr(torch.randn(9, 3, generator=generator))
    right, _ = torch.linalg.qr(torch.randn(7, 3, generator=generator))
    assert weights.effective_rank(left @ right.T) == pytest.approx(3, rel=1e-5)
    assert math.isnan(weights.effective_rank(torch.zeros(3, 4)))
    assert weights.relative_norm(torch.eye(2), 1.5 * torch.eye(2)) == pytest.approx(0.5)


def test_a_shipped_adapter_moves_few_directions_and_a_rounded_model_many():
    tuned, rounded = (views.moved("stories", other=f"stories@{change}") for change in ("play", "int4/32"))
    assert float(tuned.result.ranks.max()) <= 8 * (1 + 1e-3)
    assert float(rounded.result.ranks.min()) > 30
    layer, column = tuned.result.furthest
    assert f"W_{tuned.result.kinds[column]} of layer {layer}" in str(tuned)
    same = views.moved("stories", other="stories")
    assert str(same) == "Both have the same weights."
    assert "no difference has a rank" in str(views.ranks("stories", other="stories"))


def test_pieces_end_where_both_models_end_a_token():
    first, second = (text_bits(*tfcore.load(name), TEXT) for name in ("stories", "induction"))
    read = spans.spans(first, second)
    assert "".join(read.pieces) in TEXT
    ends = [{sum(one.sizes[: i + 1]) for i in range(len(one.sizes))} for one in (first, second)]
    assert len(read.pieces) in (len(ends[0] & ends[1]), len(ends[0] & ends[1]) - 1)
    for row, one in zip(read.nats, (first, second), strict=True):
        left_out = TEXT.index("".join(read.pieces))
        until = [i for i in range(len(one.sizes)) if sum(one.sizes[: i + 1]) <= left_out]
        assert row.sum() == pytest.approx((one.bits.sum() - one.bits[: len(until)].sum()) * math.log(2))
    assert read.sizes.tolist() == [len(piece.encode()) for piece in read.pieces]
    shown = views.spans(Reading("stories", TEXT), other="induction")
    here, there = (one.per_byte * math.log(2) for one in (first, second))
    assert f"{read.per_byte[0]:.2f} nats per byte" in str(shown)
    assert read.per_byte == pytest.approx((here, there), rel=0.1)
    with pytest.raises(ValueError, match="changes the text"):
        spans.spans(replace(first, whole=False), second)


def test_what_cannot_be_compared_is_said():
    other = "induction"
    assert "different vocabularies (2,048 and 256 tokens)" in views.why_not_by_token("stories", other)
    with pytest.raises(ValueError, match="not defined here"):
        views.tokens(Reading("stories", TEXT), other=other, token=0)
    with pytest.raises(ValueError, match="no pairs"):
        views.heads(Reading("stories", TEXT), other="stories-learned", layer=0, head=0)
    with pytest.raises(ValueError, match="only equal shapes"):
        views.moved("stories", other="stories-learned")
    with pytest.raises(ValueError, match="mixture of experts"):
        views.moved("stories", other="stories-moe")
    with pytest.raises(ValueError, match="no place in the other"):
        views.streams(Reading("stories", TEXT), other="stories-learned", token=0)
    for token in (-1, 100):
        with pytest.raises(ValueError, match="must be between 0 and"):
            views.tokens(Reading("stories", TEXT), other="stories-learned", token=token)
    with pytest.raises(ValueError, match=r"there is no head 9\.0: layers are 0 to 3, heads 0 to 5"):
        views.heads(Reading("stories", TEXT), other="stories@play", layer=9, head=0)


def test_the_same_model_differs_in_nothing():
    of = {"other": "stories", "token": 3}
    assert "expect the same after every token" in str(views.tokens(Reading("stories", TEXT), **of))
    assert "nothing to exchange" in str(views.streams(Reading("stories", TEXT), **of))
    shown = views.heads(Reading("stories", TEXT), other="stories", layer=0, head=0)
    assert str(shown) == "All heads look at the same tokens in both models."


def test_a_text_of_one_token_has_a_divergence_and_no_surprise():
    shown = views.tokens(Reading("stories", "a"), other="stories@play", token=0)
    assert "Mean surprise" not in str(shown)
    assert shown.result.kl.shape == (1,)
    theme.check(shown.chart)


def test_checkpoints_of_a_training_are_compared():
    said = "Nine purple owls flew by. Nine purple owls flew by."
    heads = views.heads(Reading("induction@300", said), other="induction@2000", layer=1, head=0)
    assert say.moved_heads(heads.result).changed == int((heads.result.before.kind != heads.result.after.kind).sum()) > 0
    assert views.moved("induction@300", other="induction@2000").result.kinds == ("q", "k", "v", "out")
    last = views.tokens(Reading("induction@2000", said), other="induction", token=0)
    assert last.result.kl.max() < 1e-3  # float16 of the film


def test_where_a_difference_comes_in_is_read_off_the_curve():
    kl = np.array([[1.0, 1.0], [0.8, 1.0], [0.2, 0.2], [0.0, 0.0]])
    read = ExchangedStreams(("a", "b"), kl, np.array([1.0, 1.0]))
    found = say.where_it_comes_in(read, ("A", "B"))
    assert (found.half, found.largest, found.blocks) == (2, 1, 3)
    assert found.share == pytest.approx(0.7)
    assert str(found) == (
        "With the stream of A put in before block 2, less than half of the KL divergence is left; most comes in at "
        "block 1 (70 %)."
    )
    late = replace(read, kl=np.array([[1.0, 1.0], [1.0, 1.0], [0.9, 0.9], [0.0, 0.0]]))
    assert str(say.where_it_comes_in(late, ("A", "B"))) == (
        "No exchange before the last block halves the KL divergence; most comes in at block 2 (90 %)."
    )
    early = replace(read, kl=np.array([[0.2, 0.2], [0.1, 0.1], [0.1, 0.1], [0.0, 0.0]]))
    assert "With the embeddings of A less than half" in str(say.where_it_comes_in(early, ("A", "B")))


def test_guesses_are_said_as_they_agree():
    one = say.BestGuesses(("A", "B"), "the", (" dog", " cat"), (0.5, 0.25), 0.3)
    assert str(one) == "After 'the' A expects '·dog' (50 %), B '·cat' (25 %); KL is 0.3 nats."
    assert "both expect '·dog': A 50 %, B 25 %" in str(replace(one, guesses=(" dog", " dog")))


def test_a_head_that_changes_its_kind_is_named_in_both():
    read = views.heads(Reading("induction@300", "a b a b a b"), other="induction@2000", layer=0, head=0).result
    layer, head = np.argwhere(read.changed)[0]
    names = "early", "late"
    said = str(say.one_head(read, layer, head, names))
    assert f"{read.before.kind[layer, head]} in early, {read.after.kind[layer, head]} in late" in said
    still = replace(read, after=read.before)
    assert f"it stays {read.before.kind[layer, head]}." in str(say.one_head(still, layer, head, names))


def test_total_variation_of_two_maps():
    a, b = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    assert attention.total_variation(a[None], b[None]).tolist() == pytest.approx([0.25])
    assert attention.total_variation(a[None], a[None]).tolist() == [0]


@nightly
def test_a_text_within_a_chat_template_is_compared_at_its_own_tokens(real_models):
    said = "What is the capital of France?"
    reading = Reading("smollm2", said)
    read, inside = views.both_texts(reading, "smollm2@chat")
    assert inside.ids[inside.span] == read.ids
    assert inside.start > 0
    assert len(inside.ids) > inside.span.stop
    model, _ = real("smollm2")
    with torch.no_grad():
        plain, chat = (model(torch.tensor([ids])).logits[0].double().log_softmax(-1) for ids in (read.ids, inside.ids))
    shown = views.tokens(Reading("smollm2", said), other="smollm2@chat", token=0).result
    assert np.allclose(shown.kl, kl(plain, chat[inside.span]), atol=1e-3)
    maps = attention.maps_of(Reading("smollm2@chat", said), "smollm2").patterns
    sums = maps.astype(np.float32).sum(-1)
    assert np.all((np.abs(sums - 1) < 1e-2) | (sums == 0))  # of heads that look at the template alone
    assert (sums > 0).mean() > 0.9
    assert str(views.moved("smollm2", other="smollm2@chat")) == "Both have the same weights."
