"""Pictures as tokens: the patches are those of a convolution, and what fits no model of pictures is refused."""

import re

import pytest
import torch
import torch.nn.functional as F

from tests.small import difference, model
from tfcore.config import ModelConfig
from tfcore.part_configs import PatchesConfig
from tfcore.pictures import cut, with_places

PATCHES = PatchesConfig(side=10, size=3, tokens=("CLS", "R1"))
OF_PICTURES = {
    "architecture": "encoder",
    "head": "none",
    "vocab_size": 2,
    "max_seq_len": 11,
    "patches": PATCHES,
    "positions": "learned",
}


def test_a_layer_of_patches_is_a_convolution():
    generator = torch.Generator().manual_seed(0)
    pictures, kernel = (torch.randn(*shape, generator=generator) for shape in ((2, 3, 10, 10), (5, 3, 3, 3)))
    expected = F.conv2d(pictures, kernel, stride=3).flatten(2).mT
    assert difference(cut(pictures, 3) @ kernel.flatten(1).T, expected) < 1e-5


def test_learned_tokens_stand_before_the_patches_and_all_see_all():
    subject = model(**OF_PICTURES)
    pictures = torch.randn(2, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    output = subject(pictures, capture=("embed", "*pattern"))
    assert output.hidden.shape == (2, 11, 24)
    assert torch.equal(output.activations["embed"][1, :2], subject.embed.weight)
    assert (output.activations["blocks.1.attn.pattern"] > 0).all()
    # a pixel that is in no patch changes nothing
    before = subject(pictures).hidden
    pictures[:, :, 9] += 1
    assert torch.equal(subject(pictures).hidden, before)


def test_positions_between_those_of_a_grid():
    theirs = torch.randn(1 + 9, 4, generator=torch.Generator().manual_seed(0))
    same = with_places(theirs, 3, 3)
    assert torch.equal(same, torch.cat((theirs[:1], torch.zeros(2, 4), theirs[1:])))
    even = with_places(torch.ones(1 + 9, 4), 1, 7)
    assert even.shape == (50, 4)
    assert difference(even, torch.ones(50, 4)) < 1e-5


WRONG = {
    "pictures (1, 3, 9, 10) of torch.float32 must be numbers of shape (batch, 3, 10, 10)": torch.zeros(1, 3, 9, 10),
    "pictures (1, 5) of torch.int64 must be numbers of shape": torch.zeros(1, 5, dtype=torch.long),
    "there are no pictures to compute on; give at least one": torch.zeros(0, 3, 10, 10),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_no_picture_is_refused(sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model(**OF_PICTURES)(WRONG[sentence])


def test_what_belongs_to_texts_is_refused():
    with pytest.raises(ValueError, match="segment_ids goes with texts, and this model reads pictures; leave it out"):
        model(**OF_PICTURES)(torch.zeros(1, 3, 10, 10), segment_ids=torch.zeros(1, 11, dtype=torch.long))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"architecture": "decoder"}, "patches goes with architecture='encoder'"),
        ({"vocab_size": 3}, "vocab_size=3 must be 2, the learned tokens before the patches"),
        ({"max_seq_len": 12}, "max_seq_len=12 must be 11, the learned tokens and the patches of a picture"),
        ({"patches": {"side": 4, "size": 5}}, "size=5 of a patch must be at most side=4 of the picture"),
        ({"patches": {"side": 4, "size": 2, "tokens": ()}}, "tokens=() must be a tuple of names, at least one"),
        ({"patches": {"side": 4, "size": 2, "channels": 2}}, "channels=2 must be 1 or 3"),
        ({"patches": {"side": 4, "size": 2, "resized": 3}}, "resized=3 must be at least side=4"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(given, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ModelConfig.from_dict(OF_PICTURES | given)


def test_a_config_comes_back_from_its_file():
    config = ModelConfig.from_dict(OF_PICTURES)
    assert ModelConfig.from_dict(config.to_dict()) == config
