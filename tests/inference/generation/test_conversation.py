"""A conversation's answers, token by token, and what each token costs, against computations written apart."""

import math

import pytest
import torch

import tfcore
from tests.loading.gguf_files import byte_level, random_model, write
from tests.nightly import nightly
from tests.tokenizers.test_chat import TEMPLATE
from tfcore.generation.sampling import Sampling
from tfcore.loading.special_tokens import special_tokens
from tfcore.tokenizers.chat import ChatError, Message
from tfcore.views.inference.generation.measure.conversation import (
    ConversationPlan,
    conversation_bits,
    converse,
    turn_tokens,
    turns,
)
from tfcore.views.inference.generation.measure.decoding import read_again
from tfcore.views.inference.generation.say import AnswerEnd, RoleCosts, answer_end, role_costs

GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def talker(tmp_path_factory):
    path = tmp_path_factory.mktemp("talks") / "model.gguf"
    write(path, "llama", random_model("llama"), **byte_level("gpt-2"), **{"tokenizer.chat_template": TEMPLATE})
    model, tokenizer = tfcore.load(path, device="cpu")
    return model, tokenizer, special_tokens(path, tokenizer)


def plan(*said, system="", tokens=5, seed=3, sampling=GREEDY):
    return ConversationPlan(system=system, said=said, sampling=sampling, seed=seed, tokens=tokens)


def test_answers_are_what_the_model_continues_the_template_with(talker):
    model, tokenizer, special = talker
    found = turns(tokenizer, special, list(converse(model, tokenizer, special, plan("dog", "cat", system="Hi"))))
    assert len(found) == 2
    text = "<|begin|>system\nHi<|end|>\n<|begin|>user\ndog<|end|>\n<|begin|>assistant\n"
    ids = []
    for part in text.replace("<|begin|>", "\0<|begin|>\0").replace("<|end|>", "\0<|end|>\0").split("\0"):
        ids += [tokenizer.special_tokens[part]] if part in tokenizer.special_tokens else tokenizer.encode(part)
    assert [token.id for token in found[0].read] == ids
    answer = []
    for _ in range(5):
        token = int(model(torch.tensor([ids + answer])).logits[0, -1].argmax())
        if token in special.ends:
            break
        answer.append(token)
    assert [one.token for one in found[0].written] == answer
    assert found[0].answer == tokenizer.decode(answer)
    second = tokenizer.decode([token.id for token in found[1].read])
    assert found[0].answer in second
    assert second.index("dog") < second.index("cat")


def test_an_end_token_ends_an_answer(talker):
    model, tokenizer, special = talker
    steps = list(converse(model, tokenizer, special, plan("dog")))
    token = steps[1][1].token
    found = turns(tokenizer, type(special)(ends=(token,)), steps[:2])
    assert (found[0].written, found[0].ended) == ((), token)
    assert answer_end(tokenizer, found[0]).sentence.startswith("The answer is empty, ended by ")


@nightly
def test_a_conversation_leaves_room_for_an_answer(talker):
    model, tokenizer, special = talker
    words, room = "a", model.config.max_seq_len

    def read():
        return len(turn_tokens(tokenizer, special, [Message("user", words)]))

    while read() < room:
        words += "a" if read() < room - 1 else "?"
    assert read() == room
    with pytest.raises(ChatError, match=f"has {room} tokens, more than the {room} that this model reads; say less"):
        list(converse(model, tokenizer, special, plan(words)))


def test_the_seed_counts(talker):
    model, tokenizer, special = talker

    def written(seed):
        return list(converse(model, tokenizer, special, plan("dog", seed=seed, sampling=Sampling())))

    assert written(1) == written(1)
    assert written(1) != written(2)


def test_a_drawn_token_is_told_as_the_model_had_it_before_any_filter(talker):
    model, tokenizer, special = talker
    sampling = Sampling(temperature=2.0, top_k=3)
    (turn,) = turns(tokenizer, special, list(converse(model, tokenizer, special, plan("dog", sampling=sampling))))
    again = read_again(model, [token.id for token in turn.read], [one.token for one in turn.written])
    assert [one.rank for one in turn.written] == [one.rank for one in again]
    assert [one.probability for one in turn.written] == pytest.approx([one.probability for one in again], abs=1e-5)
    assert all(one.drawn_with > one.probability for one in turn.written)


def test_bits_of_every_token(talker):
    model, tokenizer, special = talker
    (turn,) = turns(tokenizer, special, list(converse(model, tokenizer, special, plan("A dog"))))
    found = conversation_bits(model, turn)
    ids = [token.id for token in found.tokens]
    assert ids == [token.id for token in turn.read] + [one.token for one in turn.written]
    sums, counts = {}, {}
    for i in range(1, len(ids)):
        p = float(model(torch.tensor([ids[:i]])).logits[0, -1].softmax(-1)[ids[i]])
        assert found.bits[i - 1] == pytest.approx(-math.log2(p), abs=1e-3)
        role = found.tokens[i].role
        sums[role], counts[role] = sums.get(role, 0.0) - math.log2(p), counts.get(role, 0) + 1
    costs = role_costs(found)
    assert costs.counts == counts
    assert costs.means == pytest.approx({role: sums[role] / counts[role] for role in sums}, abs=1e-3)
    logs = [math.log(one.probability) for one in turn.written]
    assert answer_end(tokenizer, turn).probability == pytest.approx(math.exp(sum(logs) / len(logs)))


def test_the_words():
    costs = RoleCosts({None: 29, "user": 1, "assistant": 60}, {None: 7.21, "user": 4.7, "assistant": 2.0})
    assert str(costs) == (
        "The template: 29 tokens, 7.2 bits each; the user: 1 token, 4.7 bits each; the assistant: 60 tokens, "
        "2.0 bits each. The template surprises the model most."
    )
    assert str(AnswerEnd(2, "<|end|>", 0.5)) == (
        "The last answer has 2 tokens, each of probability 0.50 in the mean, ended by <|end|>."
    )
    assert "cut off at the limit" in str(AnswerEnd(1, "", 0.5))
