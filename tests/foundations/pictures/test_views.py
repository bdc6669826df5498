"""Attention over a picture beside loops written apart, and its sentences."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from tests.small import model
from tfcore.part_configs import ClassesConfig, PatchesConfig
from tfcore.pictures import prepared
from tfcore.views.foundations import pictures as views
from tfcore.views.foundations.pictures import measure
from tfcore.views.sources import File

PATCHES = PatchesConfig(side=8, size=2, tokens=("CLS", "R1"))
OF_PICTURES = {
    "architecture": "encoder",
    "vocab_size": 2,
    "max_seq_len": 18,
    "patches": PATCHES,
    "positions": "learned",
    "head": "classes",
    "classes": ClassesConfig(labels=("cat", "dog", "$x$")),
}
PICTURE = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def reader():
    return model(**OF_PICTURES), None


@pytest.fixture(scope="module")
def seen(reader):
    return measure.see(reader[0], PICTURE)


def test_it_has_seen_the_picture_itself(seen, reader):
    assert np.abs(seen.pixels.astype(int) - PICTURE).max() <= 1
    assert seen.patterns.shape == (2, 6, 18, 18)
    assert [seen.name(i) for i in (0, 1, 2, 17)] == ["CLS", "R1", "patch 0, 0", "patch 3, 3"]
    scores = reader[0](prepared(PICTURE, PATCHES)).logits[0, 0].softmax(-1)
    assert dict(seen.classes)["dog"] == pytest.approx(float(scores[1]), abs=1e-5)


def test_rollout_is_a_product_of_layers(seen):
    first, second = (torch.tensor(one).mean(0).double() for one in seen.patterns)
    one = torch.eye(18, dtype=torch.float64)
    expected = (0.5 * second + 0.5 * one) @ (0.5 * first + 0.5 * one)
    assert np.abs(measure.rollout(seen.patterns) - expected.numpy()).max() < 1e-5


def test_distances_and_shares_are_sums_over_patches(seen):
    far, weight, taken = 0.0, 0.0, 0.0
    for query in range(16):
        taken += seen.patterns[1, 4, 2 + query, 1] / 16
        for key in range(16):
            share = seen.patterns[1, 4, 2 + query, 2 + key]
            far += share * ((query // 4 - key // 4) ** 2 + (query % 4 - key % 4) ** 2) ** 0.5
            weight += share
    assert measure.mean_distances(seen)[1, 4] == pytest.approx(far / weight, rel=1e-5)
    assert measure.learned_weights(seen)[1, 4, 1] == pytest.approx(taken, rel=1e-5)


def test_the_head_to_begin_with_is_the_least_even():
    patterns = np.full((1, 3, 18, 18), 1 / 18, dtype=np.float32)
    patterns[0, 2, 0] = [0.1, 0.1, *([0.8] + [0.0] * 15)]
    planted = measure.SeenPicture(PICTURE, patterns, PATCHES, ())
    assert measure.telling_head(planted, 0) == 2


def test_sentences_say_what_is_planted(reader):
    patterns = np.full((2, 6, 18, 18), 1 / 18, dtype=np.float32)
    patterns[1, 3, 0] = 0
    patterns[1, 3, 0, [0, 9]] = 0.25, 0.75  # CLS itself, and the patch in row 1, column 3
    planted = File("a.png", measure.SeenPicture(PICTURE, patterns, PATCHES, (("cat", 0.75), ("dog", 0.25))))
    assert str(views.head(reader, planted, 1, 3, 0)) == (
        "Head 1.3: CLS attends most to patch 1, 3 (0.750); half of the weight is on 1 of 16 patches, 25 % of all on "
        "CLS, R1."
    )
    assert "half of the weight is on 1 of 16 patches in head 1.3, on 8 in 1.0" in str(
        views.heads(reader, planted, 1, 3, 0)
    )
    assert str(views.classes(reader, planted)) == "Most likely: cat, with 75 %."
    assert "Patches give 11 % of their attention to learned tokens" in str(views.learned(reader, planted, 1, 3))
    shown = views.rollout(reader, planted, 0)
    assert shown.result[9] == measure.rollout(patterns)[0, 9]


def test_a_file_is_read_as_it_is(reader, tmp_path):
    file = io.BytesIO()
    Image.fromarray(PICTURE).resize((64, 64), 0).save(file, "PNG")
    (tmp_path / "a.png").write_bytes(file.getvalue())
    seen = views.seen_of(reader, File(str(tmp_path / "a.png")))
    assert np.abs(seen.pixels.astype(int) - PICTURE).mean() < 40  # scaled up and down again


def test_a_model_of_texts_and_too_many_patches_are_refused():
    with pytest.raises(ValueError, match="this model reads texts; take one of pictures, such as dinov2"):
        measure.see(model(), PICTURE)
    many = PatchesConfig(side=70, size=2)
    large = model(**OF_PICTURES | {"patches": many, "vocab_size": 1, "max_seq_len": 1_226})
    with pytest.raises(ValueError, match="makes 1,226 tokens of a picture, and at most 1,100 are shown"):
        measure.see(large, PICTURE)
    with pytest.raises(ValueError, match="no head that tells classes of pictures apart"):
        views.classes((model(**OF_PICTURES | {"head": "none", "classes": None}), None), "balls")
