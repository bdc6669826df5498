"""Pairs of sentences: plain text, a split that shares no English sentence, batches with little padding."""

import pytest
import torch

from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import pairs
from tfcore.training.data import IGNORE, CorpusError
from tfcore.training.pairs import SOURCE, EncodedPairs, TranslationPair


def corpus(folder, text):
    path = folder / SOURCE[0]
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return folder


def test_pairs_are_read_and_made_plain(tmp_path):
    lines = "Who?\tQui\u202f?\nIt\u2019s me.\tC\u2019est\u00a0moi.\n" + "a " * 11 + "\ttrop long\nno tab\n\tempty\n"
    assert pairs.read_pairs(corpus(tmp_path, lines)) == [
        TranslationPair("Who?", "Qui ?"),
        TranslationPair("It's me.", "C'est moi."),
    ]


def test_a_file_without_pairs_is_a_sentence(tmp_path):
    with pytest.raises(CorpusError, match=r"fra\.txt is missing: it should hold English-French pairs"):
        pairs.read_pairs(tmp_path)
    with pytest.raises(CorpusError, match=r"has no pair of up to 10 words: it should hold English-French pairs"):
        pairs.read_pairs(corpus(tmp_path, "no tab here\n"))


def many(n):
    return [TranslationPair(f"Sentence {i}{end}", f"Phrase {i} {end}") for i in range(n) for end in (".", "!")]


def test_no_english_sentence_is_on_both_sides():
    split = pairs.split(many(100), held_out=10)
    sides = [{pairs.key(pair.english) for pair in part} for part in (split.train, split.valid, split.test)]
    assert [len(side) for side in sides] == [80, 10, 10]
    assert len(set().union(*sides)) == 100
    assert len(split.train) == 160, "all translations of a sentence are trained on"
    assert len(split.test) == 10, "and one is held out"
    assert pairs.split(many(100), held_out=10) == split


def test_too_few_sentences_are_refused():
    with pytest.raises(CorpusError, match="70 English sentences are too few to hold out 2 x 10"):
        pairs.split(many(70), held_out=10)


def test_a_batch_teaches_the_decoder_the_next_token():
    tokenizer = BPETokenizer.train(["Sentence Phrase"], 270)
    some = [
        *many(4),
        TranslationPair("Go", "Va"),
        TranslationPair("A much longer sentence", "Une phrase beaucoup plus longue"),
    ]
    encoded = EncodedPairs.of(tokenizer, some)
    assert [len(ids) for ids in encoded.sources] == sorted(len(ids) for ids in encoded.sources)
    batch = encoded.batch(len(some), torch.Generator().manual_seed(0))
    assert batch.decoder_ids is not None
    assert batch.padding_mask is not None
    for row, (source, target) in enumerate(zip(encoded.sources, encoded.targets, strict=True)):
        assert batch.ids[row][batch.padding_mask[row]].tolist() == source
        assert source[-1] == target[-1] == tokenizer.separator_id
        real = batch.targets[row] != IGNORE
        assert batch.targets[row][real].tolist() == target
        assert batch.decoder_ids[row][real].tolist() == [tokenizer.separator_id, *target[:-1]]
    assert batch.tokens == batch.ids.numel() + batch.targets.numel()
