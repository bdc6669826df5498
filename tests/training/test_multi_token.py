"""Multi-token prediction, against a loop over single places; self-speculation, against the text of one token a pass."""

import math

import pytest
import torch

from tests import small
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.measures.parameter_count import parameters
from tfcore.model import Transformer
from tfcore.training.data import Batch
from tfcore.training.loop import TrainingSettings, train
from tfcore.training.multi_token import WEIGHT, MultiTokenTransformer, second_guesses, speculated
from tfcore.training.recipes.ladder_second_wave import SECOND_WAVE
from tfcore.training.second_wave import MULTI_TOKEN, switched

CONFIG = switched(small.config(positions="rope", n_kv_heads=2, tie_embeddings=False, init_std=0.3))[MULTI_TOKEN]


def made(seed=0):
    model = MultiTokenTransformer(CONFIG, seed).eval().requires_grad_(False)
    for name, weight in model.second.named_parameters():
        if name.endswith("weight") and weight.ndim == 1:  # gains that are not 1
            weight.copy_(1 + 0.3 * torch.linspace(0, 9, len(weight)).sin())
    return model


def normed(x, weight):
    return [w * value / math.sqrt(sum(v * v for v in x) / len(x) + 1e-5) for value, w in zip(x, weight, strict=True)]


def times(matrix, x):
    return [sum(w * value for w, value in zip(row, x, strict=True)) for row in matrix]


def turned(x, place):
    """RoPE of one head's vector, pair by pair (arXiv:2104.09864, equation 34)."""
    half, out = len(x) // 2, list(x)
    for i in range(half):
        angle = place * 10_000 ** (-i / half)
        out[i] = x[i] * math.cos(angle) - x[i + half] * math.sin(angle)
        out[i + half] = x[i] * math.sin(angle) + x[i + half] * math.cos(angle)
    return out


def second_by_loop(model, states, following):
    """The logits of the token after the next at each place, number by number (arXiv:2412.19437, equations 21 to 23)."""
    second, config = model.second, model.config
    w = {name: value.tolist() for name, value in second.named_parameters()}
    d, heads, kv = config.head_size, config.attention.n_heads, config.attention.kv_heads
    keys, values, all_logits = [], [], []
    for place, (state, token) in enumerate(zip(states, following, strict=True)):
        embedded = model.embed.weight[token].tolist()
        joined = normed(state, w["state_norm.weight"]) + normed(embedded, w["token_norm.weight"])
        x = times(w["project.weight"], joined)
        row = times(w["block.attn.qkv.weight"], normed(x, w["block.ln1.weight"]))
        parts = [row[i : i + d] for i in range(0, len(row), d)]
        keys.append([turned(one, place) for one in parts[heads : heads + kv]])
        values.append(parts[heads + kv :])
        mixed = []
        for head in range(heads):
            q, of = turned(parts[head], place), head // (heads // kv)
            scores = [sum(a * b for a, b in zip(q, k[of], strict=True)) / math.sqrt(d) for k in keys]
            weights = [math.exp(score - max(scores)) for score in scores]
            mixed += [sum(a * v[of][i] for a, v in zip(weights, values, strict=True)) / sum(weights) for i in range(d)]
        x = [a + b for a, b in zip(x, times(w["block.attn.out.weight"], mixed), strict=True)]
        both = times(w["block.mlp.up.weight"], normed(x, w["block.ln2.weight"]))
        gate, linear = both[: len(both) // 2], both[len(both) // 2 :]
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, linear, strict=True)]
        x = [a + b for a, b in zip(x, times(w["block.mlp.down.weight"], inner), strict=True)]
        all_logits.append(times(model.unembed.weight.tolist(), normed(x, w["ln_final.weight"])))
    return torch.tensor(all_logits)


def test_the_second_prediction_is_that_of_a_loop():
    model, ids = made(), small.ids(1, 7)
    states = model(ids).hidden
    ours = model.second_logits(states[:, :-1], ids[:, 1:])[0]
    theirs = second_by_loop(model, states[0, :-1].tolist(), ids[0, 1:].tolist())
    assert float((ours - theirs).abs().max()) < 1e-4 * float(theirs.abs().max())


def test_it_knows_no_token_after_the_next():
    model, ids = made(), small.ids(1, 9)
    before = model.second_logits(model(ids).hidden, ids.roll(-1))
    changed = ids.clone()
    changed[0, 6] = (ids[0, 6] + 1) % 61
    after = model.second_logits(model(changed).hidden, changed.roll(-1))
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5], after[:, 5]), "the next token at place 5"


def test_the_losses_are_those_of_the_token_after_the_next():
    model, ids = made(), small.ids(2, 8)
    losses = model.second_losses(model(ids).hidden, ids)
    logits = model.second_logits(model(ids).hidden[:, :-1], ids[:, 1:])
    for row in range(2):
        for place in range(6):
            by_hand = -logits[row, place].log_softmax(-1)[ids[row, place + 2]]
            assert losses[row, place] == pytest.approx(float(by_hand), rel=1e-5)


def test_apart_from_training_it_is_the_decoder_of_its_seed():
    model, plain, ids = MultiTokenTransformer(CONFIG, 3).eval(), Transformer(CONFIG, 3).eval(), small.ids()
    assert torch.equal(model(ids).logits, plain(ids).logits)
    assert not model(ids).losses
    second = sum(weight.numel() for weight in model.second.parameters())
    assert sum(weight.numel() for weight in model.parameters()) == parameters(CONFIG).total + second


def test_its_loss_joins_in_training(tmp_path):
    """The first step of AdamW goes against the sign of the gradient of both losses together."""
    settings = TrainingSettings(steps=1, rows=2, lr=0.01, warmup=1, clip=math.inf, weight_decay=0.0)
    ids = small.ids(2, 9)
    batch = Batch(ids[:, :-1], ids[:, 1:])
    trained = train(MultiTokenTransformer(CONFIG), lambda _: batch, settings, tmp_path)
    before = MultiTokenTransformer(CONFIG)
    output = before(batch.ids)
    first = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), batch.targets.flatten())
    second = before.second_losses(output.hidden, batch.ids).mean()
    assert float(output.losses["second"].detach()) == pytest.approx(WEIGHT * float(second.detach()), rel=1e-6)
    (first + WEIGHT * second).backward()
    for (name, weight), after in zip(before.named_parameters(), trained.parameters(), strict=True):
        sure = weight.grad.abs() > 1e-5
        assert sure.any(), name
        moved = (after - weight).detach()[sure]
        assert torch.allclose(moved, -0.01 * weight.grad.sign()[sure], atol=2e-5), name


@pytest.mark.parametrize("seed", range(2))
def test_speculation_writes_the_same_text(seed):
    model = made(seed)
    model.unembed.weight[7:] *= 0.05  # few tokens win, so that some guesses are right
    begin = small.ids(1, 4, seed=seed)[0].tolist()
    text, passes = speculated(model, begin, 16)
    assert text == begin + generate(model, begin, Sampling(temperature=0), max_new_tokens=12)
    assert 12 / 2 <= passes <= 12


def test_passes_and_shares_are_counted():
    """Against a loop over every place, and over the passes one by one."""
    model, ids = made(1), small.ids(2, 10)
    model.unembed.weight[5:] *= 0.02
    found = second_guesses(model, ids)
    right, tokens = [], []
    for row in ids:
        for place in range(9):
            begun = row[None, : place + 2]
            state = model(begun[:, :-1]).hidden
            guess = model.second_logits(state, begun[:, 1:])[0, -1].argmax()
            right.append(float(guess == model(begun).logits[0, -1].argmax()))
        tokens += [int(model(row[None, : place + 1]).logits[0, -1].argmax()) for place in range(10)]
    by_place = model(ids).logits.log_softmax(-1)
    first = [-float(by_place[row, place, ids[row, place + 1]]) for row in range(2) for place in range(1, 9)]
    assert found.first_loss == pytest.approx(sum(first) / len(first), rel=1e-5)
    assert found.confirmed == pytest.approx(sum(right) / len(right))
    assert found.constant == pytest.approx(max(map(tokens.count, tokens)) / len(tokens))
    passes = 0
    for row in ids:
        text, guess = row[:5].tolist(), None
        while len(text) < 10:
            passes += 1
            token = int(model(torch.tensor([text])).logits[0, -1].argmax())
            text.append(token)
            if guess == token:
                text.append(int(model(torch.tensor([text])).logits[0, -1].argmax()))
            state = model(torch.tensor([text[:-1]])).hidden
            guess = int(model.second_logits(state, torch.tensor([text[1:]]))[0, -1].argmax())
    assert found.per_pass == pytest.approx(10 / passes)
    assert 0 <= found.written <= 1


def test_the_models_that_are_trained_have_the_weights_of_the_base_at_first():
    model, base = MultiTokenTransformer(SECOND_WAVE.model, 2), Transformer(SECOND_WAVE.model, 2)
    for name, weight in base.named_parameters():
        assert torch.equal(weight, model.get_parameter(name)), name
