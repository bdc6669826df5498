"""What a folder says of pictures: they are made as `transformers` makes them, and what is not done here is refused."""

import json

import numpy as np
import pytest
import torch
import transformers as hf

from tests.parity.checkpoints import PICTURES, written
from tests.parity.comparing import TOLERANCE
from tests.small import difference
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import estimate, load
from tfcore.pictures import prepared

# a square, as ours cuts one out before it scales
PICTURE = np.random.default_rng(0).integers(0, 256, (37, 37, 3), dtype=np.uint8)
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
PROCESSORS = {
    "vit": ("ViTImageProcessor", {"size": {"height": 14, "width": 14}}),
    "deit": ("DeiTImageProcessor", {"size": {"height": 20, "width": 20}, "crop_size": {"height": 14, "width": 14}}),
    "dinov2": ("BitImageProcessor", {"size": {"shortest_edge": 21}, "crop_size": {"height": 11, "width": 11}}),
}


@pytest.mark.parametrize("case", PROCESSORS)
def test_a_picture_is_read_as_transformers_reads_it(tmp_path, case):
    name, settings = PROCESSORS[case]
    theirs = written(*PICTURES[case], tmp_path)
    maker = getattr(hf, f"{name}Pil", None) or getattr(hf, name)
    processor = maker(**settings, **(IMAGENET if case == "dinov2" else {}))
    processor.save_pretrained(tmp_path)
    ours, tokenizer = load(tmp_path, device="cpu")
    assert tokenizer is None
    expected = processor(PICTURE, return_tensors="pt")["pixel_values"]
    pixels = prepared(PICTURE, ours.config.patches)
    assert difference(pixels, expected) < 1e-5
    # of another size than they were trained on, positions are found between those of training
    assert difference(ours(pixels).hidden, theirs(expected).last_hidden_state) < TOLERANCE


def test_of_a_picture_that_is_no_square_the_middle_is_read(tmp_path):
    written(*PICTURES["vit"], tmp_path)
    patches = load(tmp_path, device="cpu")[0].config.patches
    wide = np.concatenate((PICTURE[:, :5], PICTURE, PICTURE[:, :6]), axis=1)
    assert torch.equal(prepared(wide, patches), prepared(PICTURE, patches))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"size": {"height": 8, "width": 9}},
            r"size=\{'height': 8, 'width': 9\} is not supported; supported: the side",
        ),
        ({"resample": 9}, r"resample=9 is not supported; supported: 0 to 5"),
        ({"rescale_factor": 0.5}, r"rescale_factor=0\.5 is not supported"),
        ({"do_rescale": False}, r"do_rescale=False is not supported; supported: True"),
        ({"image_std": [0, 1, 1]}, r"std=\(0, 1, 1\) must be numbers from 1e-06 to 100, one for each of 3 channels"),
        ({"image_mean": [1.0]}, r"mean=\(1\.0,\) must be numbers"),
        ({"size": 10**9}, r"side=1000000000 must be between 1 and 4,096"),
        ({"size": "large"}, r"size='large' is not supported"),
    ],
)
def test_what_is_not_done_here_is_refused(tmp_path, said, why):
    written(*PICTURES["vit"], tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(said))
    with pytest.raises(CheckpointError, match=r"preprocessor_config\.json: " + why):
        estimate(tmp_path)


def test_positions_of_another_picture_are_refused_where_there_are_none_between(tmp_path):
    written(*PICTURES["vit"], tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"size": 24}))
    with pytest.raises(
        CheckpointError, match=r"embeddings\.position_embeddings has shape \(1, 10, 24\), config\.json asks"
    ):
        estimate(tmp_path)
