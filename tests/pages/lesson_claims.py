"""What each stop of a lesson says, beside what its page finds, and where that is cheap beside the same computed apart:
from the logits and attention weights of a pass of its own, or by the formula."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.real import real
from tfcore import load
from tfcore.views.view import View

SHARE = 1e-4  # that two probabilities may differ by, of which one was rounded or came from another batch
GPT2_LAYERS, GPT2_WIDTH, GPT2_PARAMETERS = 12, 768, 124_439_808
LLAMA_LAYERS, LLAMA_HEADS, LLAMA_KV_HEADS, LLAMA_D_HEAD = 80, 64, 8, 128


@dataclass(frozen=True)
class StopFound:
    """What the page of a stop found.

    Args:
        it: the values that the answer states, as attributes.
        view: that the answer is said of.
        model: its name.
        text: in sight.
    """

    it: SimpleNamespace
    view: View
    model: str
    text: str

    @cached_property
    def opened(self) -> tuple[Any, Any]:
        return real(self.model) if self.model == "smollm2" else load(self.model)

    @cached_property
    def ids(self) -> list[int]:
        return list(self.opened[1].encode(self.text))

    @cached_property
    def tokens(self) -> list[str]:
        return [self.opened[1].token_bytes(one).decode(errors="replace") for one in self.ids]

    @cached_property
    def probabilities(self) -> Tensor:
        """(query, vocab): after each token of the text."""
        return _pass(self.model, self.text).softmax(-1)

    def id_of(self, token: str) -> int:
        """The id of a token that is written with a dot for its space."""
        (found,) = self.opened[1].encode(token.replace("·", " "))
        return int(found)

    def pattern(self, layer: int, head: int) -> Tensor:
        """(query, key), as the view shows it."""
        name = f"blocks.{layer}.attn.pattern"
        made: Tensor = self.opened[0](torch.tensor([self.ids]), capture=(name,)).activations[name][0, head]
        reading = next(iter(self.view.made.arguments.values())) if self.view.made else None
        if getattr(reading, "hide_sink", False):
            made = made.clone()
            made[:, 0] = 0
            made = made / made.sum(-1, keepdim=True)
        return made


@lru_cache(maxsize=8)
def _pass(model: str, text: str) -> Tensor:
    """(query, vocab): the logits after each token."""
    network, tokenizer = real(model) if model == "smollm2" else load(model)
    logits: Tensor = network(torch.tensor([tokenizer.encode(text)])).logits[0]
    return logits


def numbers(words: Any) -> list[float]:
    """The decimal numbers of a sentence, which may be a finding of its own."""
    return [float(one) for one in re.findall(r"-?\d+\.\d+", str(words))]


# ---- one model and one text -----------------------------------------------------------------------------------------


def river(at: StopFound) -> bool:
    """Its token is the likeliest of a pass of its own, and the widest ribbon comes from a token of the text."""
    best = int(at.probabilities[-1].argmax())
    said = at.opened[1].token_bytes(best).decode(errors="replace")
    share = float(at.probabilities[-1, best])
    return said == at.it.token and abs(share - at.it.probability) < 100 * SHARE and at.it.widest[1] in at.tokens


def characters_per_token(at: StopFound) -> bool:
    return (
        math.isclose(at.it.per_token, len(at.text) / len(at.ids)) and at.it.worst_per_token < 1 < at.it.best_per_token
    )


def nearest_rows(at: StopFound) -> bool:
    """The row with the largest cosine, from the table itself."""
    rows = F.normalize(at.opened[0].embed.weight.float(), dim=-1)
    cosines = rows @ rows[at.it.row]
    cosines[at.it.row] = -1
    best = int(cosines.argmax())
    return at.opened[1].token_bytes(best) == at.it.nearest[0] and abs(float(cosines[best]) - at.it.cosine) < SHARE


def strongest_key(at: StopFound) -> bool:
    weights = at.pattern(2, 5)[at.it.query]
    return int(weights.argmax()) == at.it.key and abs(float(weights[at.it.key]) - at.it.weight) < 10 * SHARE


def final_prediction(at: StopFound) -> bool:
    """The last stage of the lens is the model's own probability, and there the token comes first."""
    share = float(at.probabilities[-1].max())
    return abs(at.it.probabilities[-1] - share) < 100 * SHARE and at.it.stages[-1] in at.it.leads


def drawn_token(at: StopFound) -> bool:
    """Its probability without filters; filters make the choice surer."""
    share = float(at.probabilities[-1, at.id_of(at.it.token)])
    return abs(share - at.it.by_model) < 10 * SHARE and at.it.by_filters >= at.it.by_model


def asymmetric_scores(at: StopFound) -> bool:
    one, other = numbers(at.it.pair)[-2:]
    return one != other


def mask_renormalises(at: StopFound) -> bool:
    """Later keys have weight 0, and the rows still sum to 1."""
    weights = at.pattern(0, 0)
    grown = float(re.findall(r"([\d.]+) times", str(at.it.finding))[0])
    return grown > 1 and bool((weights.triu(1) == 0).all()) and bool((weights.sum(-1) - 1).abs().max() < SHARE)


def cut_into_heads(at: StopFound) -> bool:
    """The product has a row a token, and a place for every query, key and value."""
    of = at.opened[0].config.attention
    width = (of.n_heads + 2 * of.kv_heads) * at.it.d_head
    return (
        at.it.tokens == len(at.ids) and at.it.n_heads == of.n_heads and str(at.it.shape) == f"({len(at.ids)}, {width})"
    )


def correct_predictions(at: StopFound) -> bool:
    """How many of the text's own tokens the model puts first."""
    right = int((at.probabilities[:-1].argmax(-1) == torch.tensor(at.ids[1:])).sum())
    ((of, first, last),) = re.findall(r"of (\d+): (\d+) .*?, (\d+) after", str(at.it.ends))
    return int(of) == len(at.ids) - 1 and int(last) == right and int(first) <= right


def patched_difference(at: StopFound) -> bool:
    """Before the first block the word that differs restores all, after the last the last token does; the difference is
    that of two logits."""
    first, *_, last = str(at.it.peaks).split("; ")
    logits = _pass(at.model, at.text)[-1]
    difference = float(logits[at.id_of(at.it.other)] - logits[at.id_of(at.it.own)])
    differs = f"'{at.tokens[4].replace(' ', '·')}' (4)"
    ends = re.search(r"\((\d+)\)$", last)
    return (
        abs(difference - at.it.difference) < 0.05
        and first == f"before block 0: 1.00 at {differs}"
        and " 1.00 at " in last
        and ends is not None
        and int(ends[1]) == len(at.ids) - 1
    )


def bits_of_a_text(at: StopFound) -> bool:
    """So few tokens can make half of the bits only where the costliest of them has its share."""
    is_whole = at.it.tokens - len(at.ids) in (0, -1)  # with a token before the first, or without
    return is_whole and at.it.half < at.it.tokens / 2 and at.it.half * at.it.largest_bits >= at.it.total / 2


def one_door(at: StopFound) -> bool:
    """Without the heads below in the keys the second copy is hard, and not without them in queries or values."""
    losses = {name: float(loss) for name, loss in re.findall(r"(\w+) (\d+\.\d+)", str(at.it.losses))}
    return losses["key"] == max(losses.values()) > losses["none"]


def best_heads(at: StopFound) -> bool:
    scores = [float(one.rpartition(" ")[2]) for one in str(at.it.best).split(", ")]
    return scores == sorted(scores, reverse=True) and 0.3 < scores[0] <= 1


# ---- formulas and what is stored -----------------------------------------------------------------------------------


def softmax_of_points(at: StopFound) -> bool:
    given = at.view.made.arguments if at.view.made else {}
    queries, keys = (torch.tensor(given[name]) for name in ("queries", "keys"))
    chosen = list(given["words"]).index(at.it.query)
    scores = queries[chosen] @ keys.T / math.sqrt(keys.shape[1])
    weights = (scores / given.get("temperature", 1.0)).softmax(-1)
    best = int(weights.argmax())
    return given["words"][best] == at.it.key and abs(float(weights[best]) - at.it.weight) < SHARE


def softmax_by_hand(at: StopFound) -> bool:
    powers = [math.exp(score / at.it.temperature) for score in at.it.scores]
    return all(abs(one / sum(powers) - weight) < SHARE for one, weight in zip(powers, at.it.weights, strict=True))


def norm_divisors(at: StopFound) -> bool:
    layer, rms = math.sqrt(at.it.variance), math.sqrt(at.it.variance + at.it.mean**2)
    return abs(at.it.layer_divisor - layer) < SHARE and abs(at.it.rms_divisor - rms) < SHARE


def parts_of_gpt2(at: StopFound) -> bool:
    feed_forward = GPT2_LAYERS * (8 * GPT2_WIDTH**2 + 5 * GPT2_WIDTH)  # two matrices and two biases a block
    return (
        at.it.total == GPT2_PARAMETERS
        and at.it.largest == "feed-forward"
        and abs(at.it.share - feed_forward / at.it.total) < SHARE
    )


def memory_of_gpt2(at: StopFound) -> bool:
    """Weights and a cache of 1,024 tokens, in two bytes each; training takes several times as much."""
    cache = 2 * GPT2_LAYERS * GPT2_WIDTH * at.it.seq * at.it.batch
    generation = 2 * (GPT2_PARAMETERS + cache)
    return at.it.generation == generation and at.it.training > 8 * GPT2_PARAMETERS and 2 * at.it.int4 == at.it.int8


def days_of_training(at: StopFound) -> bool:
    flops = 6 * at.it.plan.n * at.it.plan.d
    hours = at.it.cost.days * 24 * at.it.plan.count
    return math.isclose(at.it.cost.flops, flops) and math.isclose(at.it.cost.hours, hours)


def equal_operations(at: StopFound) -> bool:
    """Scores and weighted sums are 4 n² d in each layer; the products with weights grow with n alone."""
    squared = 4 * at.it.n**2 * GPT2_WIDTH * GPT2_LAYERS
    return math.isclose(at.it.squared, squared) and math.isclose(at.it.crossing, at.it.n * at.it.linear / squared)


def grouped_cache(at: StopFound) -> bool:
    whole, grouped, *_ = at.it.sizes.values()
    tokens = at.it.tokens * at.it.batch
    return (
        whole == 2 * LLAMA_LAYERS * LLAMA_HEADS * LLAMA_D_HEAD * 2 * tokens
        and grouped * LLAMA_HEADS == whole * LLAMA_KV_HEADS
    )


def bits_with_scales(at: StopFound) -> bool:
    bits, group = (int(one) for one in re.findall(r"int(\d+), groups of (\d+)", str(at.it.scheme))[0])
    return math.isclose(at.it.bits, bits + 16 / group) and 0 < at.it.error < 1 and at.it.after < at.it.before


def finer_groups(at: StopFound) -> bool:
    """The finer the groups, the fewer bits do; none adds more than a hundredth to the loss."""
    bits = [math.inf if one is None else int(one[0].removeprefix("int")) for one in at.it.best.values()]
    losses = [one[1] for one in at.it.best.values() if one]
    return bits == sorted(bits, reverse=True) and max(losses) <= 1.01 * at.it.table.unrounded


def token_loss(at: StopFound) -> bool:
    return math.isclose(at.it.nats, -math.log(at.it.p)) and math.isclose(at.it.bits, -math.log2(at.it.p))


def half_of_the_rate(at: StopFound) -> bool:
    """Half a cosine from the end of the warm-up on, and the inverse of a square root."""
    middle = at.it.steps / 2
    cosine = (1 + math.cos(math.pi * (middle - at.it.warmup) / (at.it.steps - at.it.warmup))) / 2
    root = math.sqrt(at.it.warmup / middle)
    said = at.it.half
    return abs(said["cosine"] - cosine) < 0.02 and abs(said["inverse_sqrt"] - root) < 0.02 and said["constant"] == 1


def transformer_first(at: StopFound) -> bool:
    when = {name: step or math.inf for name, step, _ in at.it.when}
    return min(when, key=lambda name: when[name]) == "transformer"


def best_split(at: StopFound) -> bool:
    """Tokens over parameters, as they are said."""
    said = re.findall(r"([\d.]+) B parameters on ([\d.]+) T tokens, ([\d.]+) per", str(at.it.finding))
    ((parameters, tokens, each),) = said
    return abs(1000 * float(tokens) / float(parameters) - float(each)) < 0.1


def predicted_loss(at: StopFound) -> bool:
    predicted, came = numbers(at.it.finding)[-2:]
    return abs(predicted - came) < 0.1


def learned_and_forgotten(at: StopFound) -> bool:
    (before, after), (was, now) = numbers(at.it.new), numbers(at.it.old)
    return after < before and now > was


CLAIMS: dict[tuple[str, int], Callable[[StopFound], bool]] = {
    ("text-to-token", 1): river,
    ("text-to-token", 2): characters_per_token,
    ("text-to-token", 3): nearest_rows,
    ("text-to-token", 4): strongest_key,
    # what a causal mask leaves: half of the pairs, and the diagonal
    ("text-to-token", 5): lambda at: at.it.near.pairs == at.it.near.n * (at.it.near.n + 1) // 2,
    ("text-to-token", 6): final_prediction,
    # many parts do next to nothing, and a few decide
    ("text-to-token", 7): lambda at: at.it.small > at.it.parts / 2 and at.it.effect > 0.4,
    ("text-to-token", 8): drawn_token,
    ("text-to-token", 9): river,
    ("attention-by-hand", 1): softmax_of_points,
    ("attention-by-hand", 2): asymmetric_scores,
    # variances add up
    ("attention-by-hand", 3): lambda at: abs(at.it.measured / at.it.width - 1) < 0.2 and at.it.theory == at.it.width,
    # without the division the softmax chooses one key
    ("attention-by-hand", 4): lambda at: at.it.without > 2 * at.it.divided,
    ("attention-by-hand", 5): softmax_by_hand,
    ("attention-by-hand", 6): mask_renormalises,
    ("attention-by-hand", 7): cut_into_heads,
    # without positions a shuffle changes nothing but the order
    ("attention-by-hand", 8): lambda at: at.it.change < 1e-5,
    # nothing arrives without residual connections and norms
    ("why-it-trains", 1): lambda at: at.it.gradients["no skip, no norm"] < 1e-20 < 0.01 < at.it.gradients["pre-LN"],
    # a model works when one sublayer is left out, and ever worse with more
    ("why-it-trains", 2): lambda at: (
        at.it.means[1] - at.it.whole < 1 and list(at.it.means.values()) == sorted(at.it.means.values())
    ),
    ("why-it-trains", 3): norm_divisors,
    ("why-it-trains", 4): lambda at: at.it.gradients["post-LN"] > at.it.gradients["pre-LN"],
    ("why-it-trains", 5): lambda at: min(at.it.sizes, key=lambda name: at.it.sizes[name][1]).startswith("GPT-2"),
    # with a causal mask nothing changes before the token, to the last bit
    ("why-it-trains", 6): lambda at: at.it.equal and at.it.before == 0 < at.it.without,
    # with its mask on, the model that learned without is worse
    ("why-it-trains", 7): lambda at: at.it.broken > 4 * at.it.baseline,
    ("why-it-trains", 8): lambda at: at.it.broken > 1.5 * at.it.baseline,
    ("what-a-gpt-costs", 1): parts_of_gpt2,
    # the feed-forward layer has the larger part
    ("what-a-gpt-costs", 2): lambda at: (
        at.it.share > 0.5 and math.isclose(at.it.share, at.it.feed_forward / at.it.total)
    ),
    ("what-a-gpt-costs", 3): memory_of_gpt2,
    ("what-a-gpt-costs", 4): days_of_training,
    ("what-a-gpt-costs", 5): equal_operations,
    ("what-a-gpt-costs", 6): grouped_cache,
    # as it is set it does not fit; one of the changes makes it
    ("what-a-gpt-costs", 7): lambda at: (
        at.it.verdicts["as set above"].endswith("too much") and at.it.verdicts[at.it.best].startswith("fits")
    ),
    ("what-a-gpt-costs", 8): bits_with_scales,
    ("what-a-gpt-costs", 9): finer_groups,
    ("inside-a-prediction", 1): correct_predictions,
    # the largest share raises the logit
    ("inside-a-prediction", 2): lambda at: "+" in str(at.it.largest) and numbers(at.it.largest)[0] > 0,
    # of all parts one matters most
    ("inside-a-prediction", 3): lambda at: at.it.effect > 0.4 > at.it.limit > at.it.lowest,
    # what adds most raises the score
    ("inside-a-prediction", 4): lambda at: at.it.at_query[1] > 0 < at.it.at_key[1],
    ("inside-a-prediction", 5): patched_difference,
    # methods need not agree: each pair has a rank correlation
    ("inside-a-prediction", 6): lambda at: (
        len(at.it.correlations) == 3 and all(-1 <= one <= 1 for one in at.it.correlations.values())
    ),
    ("inside-a-prediction", 7): river,
    ("in-context-and-induction", 1): best_heads,
    # high on the first copy, low on the second, and hard again without the heads
    ("in-context-and-induction", 2): lambda at: (
        at.it.new > 3 * at.it.repeated and at.it.repeated_ablated > 2 * at.it.repeated
    ),
    ("in-context-and-induction", 3): one_door,
    ("in-context-and-induction", 4): lambda at: 0.3 < at.it.prefix <= 1 >= abs(at.it.copying),
    # within a few of 3,000 steps, below what guessing has
    ("in-context-and-induction", 5): lambda at: (
        0 < at.it.fell[1] - at.it.fell[0] <= 200 and at.it.second_loss < at.it.first_loss
    ),
    # right more often with examples
    ("in-context-and-induction", 6): lambda at: at.it.now.low > at.it.none.high,
    # the overlap of two lists of heads can be compared with chance
    ("in-context-and-induction", 7): lambda at: 0 <= at.it.shared <= at.it.top and at.it.by_chance < at.it.top,
    ("training-and-tuning", 1): token_loss,
    ("training-and-tuning", 2): bits_of_a_text,
    ("training-and-tuning", 3): half_of_the_rate,
    ("training-and-tuning", 4): transformer_first,
    ("training-and-tuning", 5): best_split,
    ("training-and-tuning", 6): predicted_loss,
    ("training-and-tuning", 7): learned_and_forgotten,
    # reward is gained, and paid for by the distance from the original model
    ("training-and-tuning", 8): lambda at: at.it.now > at.it.before and at.it.kl > 0,
}
