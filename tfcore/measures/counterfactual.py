"""A text beside another that differs from it in one word: what it is compared with, where nobody has typed one."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tfcore.measures.attribution_patching import first_order
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.information import divergence
from tfcore.measures.one_text import ends, last_tokens, next_logits, one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

ALIKE = 12  # words that are used like one of the text, by the cosine of their embeddings
ALIKE_IN_CLASSES = 200  # of them where the class is to change, as it does with words of the opposite sense
TRIED = 8  # replacements, each a text of one more pass
LETTERS = 3  # that a word has at least; two that begin with so many alike may be one word in two forms


@torch.no_grad()
def counterfactual(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> str | None:
    """The last tokens of a text with one word replaced by another that is used alike.

    Of the replacements that a decoder expects most in their places, and of these the half with the more probable texts,
    it is the one that changes the prediction after the last token most, by KL(p || p with the replacement). It has as
    many tokens as the text, so that activations of one can be put into the other (arXiv:2309.16042, section 2.1).

    Of a model that tells classes of texts apart, it is the one that changes the class most, of those that do so most to
    first order among words with similar embeddings.

    Returns:
        None where no word has such a replacement.
    """
    read = last_tokens(model, tokenizer, text, limit)
    spaced = any(piece[:1] == " " for piece in read.tokens)  # else a word has no space, and parts of words have marks
    places = [i for i in range(1, len(read.ids)) if _is_word(read.tokens[i], spaced)]
    if not places:
        return None
    own = model(one_text(model, read.ids)).logits.squeeze(0).float().log_softmax(1)
    tells_classes = model.config.classes is not None
    found: list[tuple[float, list[int]]] = []
    near = _used_alike(model, [read.ids[i] for i in places], ALIKE_IN_CLASSES if tells_classes else ALIKE)
    lifts = (
        _first_order(model, read.ids, places, near) if tells_classes else own[[i - 1 for i in places]].gather(1, near)
    )
    for place, others, values in zip(places, near.tolist(), lifts.tolist(), strict=True):
        for token, piece, value in zip(others, tokenizer.tokens(others), values, strict=True):
            if _can_replace(read.tokens[place], piece, spaced):
                found.append((value, [*read.ids[:place], token, *read.ids[place + 1 :]]))
    before, behind = ends(tokenizer)  # which the tokenizer puts there again
    inside = slice(len(before), len(read.ids) - len(behind))
    texts = [(tokenizer.decode(ids[inside]), ids) for _, ids in sorted(found, reverse=True)[:TRIED]]
    texts = [(said, ids) for said, ids in texts if last_tokens(model, tokenizer, said, limit).ids == ids]
    if not texts:
        return None
    rows = torch.tensor([ids for _, ids in texts], device=model.device)
    theirs, at = model(rows).logits.float().log_softmax(2), model.config.read_at  # (text, seq, vocab)
    far = divergence(own[at], theirs[:, at])
    if tells_classes:
        return texts[int(far.argmax())][0]
    likely = theirs[:, :-1].gather(2, rows[:, 1:, None]).sum((1, 2))
    good = likely.topk(max(1, len(texts) // 2)).indices
    return texts[int(good[far[good].argmax()])][0]


def _used_alike(model: Transformer, ids: list[int], count: int) -> Tensor:
    """The tokens whose embeddings have the largest cosines with each of these: (token, count)."""
    table = F.normalize(model.embed.weight.float())
    return (table[ids] @ table.T).topk(min(count + 1, len(table))).indices


def _first_order(model: Transformer, ids: list[int], places: list[int], others: Tensor) -> Tensor:
    """By how much the logit of the class falls, less that of the second, where a token is replaced by another, to first
    order (arXiv:1712.06751, section 3.1): (place, other)."""
    first, second = next_logits(model, ids).topk(2).indices.tolist()
    quantity = Quantity("difference", first, second)
    twice = ["encoder.embed", "decoder.embed"]  # where the decoder has each token one place further on
    names = twice if model.config.reads_twice else ["embed"]
    run = first_order(model, one_text(model, ids), names, lambda hidden: measured(model, hidden, ids, quantity))
    slope, *again = (run.gradients[name].squeeze(0) for name in names)
    for other in again:
        slope = slope + F.pad(other[1:], (0, 0, 0, 1))
    slope, table = slope[places], model.embed.weight
    return ((table[[ids[i] for i in places]][:, None] - table[others]) * slope[:, None]).sum(
        2
    ) * model.config.embed_scale


def _is_word(piece: str, spaced: bool) -> bool:
    word = piece.strip()
    return (piece[:1] == " ") == spaced and word.isalpha() and len(word) >= LETTERS


def _can_replace(own: str, other: str, spaced: bool = True) -> bool:
    """Whether another token is another word, not a form of the same, with a capital where that has one."""
    word, instead = own.strip(), other.strip()
    if not _is_word(other, spaced) or word[0].isupper() != instead[0].isupper():
        return False
    return word[:LETTERS].casefold() != instead[:LETTERS].casefold()
