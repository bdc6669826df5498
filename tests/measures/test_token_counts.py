"""Published models read as many tokens as their papers say, and a length costs what the formula of FLOPs says."""

import itertools

import pytest

import tfcore
from tfcore.measures.flop_count import flops, sequence_cost
from tfcore.measures.token_counts import SEQUENCES, sound

PUBLISHED = {
    "image": 197,  # 14 x 14 and the class, arXiv:2010.11929
    "sound": 1_500,  # arXiv:2212.04356
    "video": 3_136,  # 16 x 14 x 14, arXiv:2103.15691
    "codes": 1_280,  # 256 + 1,024, arXiv:2102.12092
    "latent": 256,  # arXiv:2212.09748
    "dna": 1_536,  # doi:10.1038/s41592-021-01252-x
    "series": 42,  # arXiv:2211.14730
    "protein": 78,  # ubiquitin has 76 residues
    "robot": 48,  # arXiv:2212.06817
    "episode": 90,  # context 30, arXiv:2106.01345
    "codec": 6_000,  # 10 s x 75 x 8: 600 codes of 10 bits a second are 6 kbit/s, arXiv:2210.13438
    "text": 450,
}


def test_published_lengths():
    assert {key: one.published() for key, one in SEQUENCES.items()} == PUBLISHED


@pytest.mark.parametrize("key", SEQUENCES)
def test_a_length_at_every_end_of_every_slider(key):
    one = SEQUENCES[key]
    for values in itertools.product(*((knob.low, knob.high) for knob in one.knobs)):
        n = one.count(**{knob.name: value for knob, value in zip(one.knobs, values, strict=True)})
        assert isinstance(n, int)
        assert n >= 1
    for knob in one.knobs:
        assert knob.low <= knob.default <= knob.high
        steps = (knob.default - knob.low) / knob.step
        assert steps == pytest.approx(round(steps))


def test_half_the_patch_is_four_times_the_tokens():
    image, video = SEQUENCES["image"].count, SEQUENCES["video"].count
    assert sound(30, 40.0) == 375, "half as many as frames, one every 640 samples"
    assert image(224, 8) - 1 == 4 * (image(224, 16) - 1)
    assert video(32, 2, 224, 8) == 4 * video(32, 2, 224, 16)


def test_cost_by_hand_and_as_the_accountant_says():
    n = 196
    cost = sequence_cost([n])
    assert cost.cells[0] == 38_416
    assert cost.matrices[0] == 12 * 38_416 * 2
    counted = flops(tfcore.presets.gpt2_small(), n)
    inside = sum(v for k, v in counted.by_component.items() if "embed" not in k)
    assert cost.total[0] == inside


def test_attention_is_half_of_the_work_at_six_widths():
    assert sequence_cost([6 * 768]).share[0] == pytest.approx(0.5)
