"""The page on pictures: with the model that ships, and with one of a visitor's own."""

import io
from functools import partial

from PIL import Image

from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.own_models import brought
from tests.parity.checkpoints import PICTURES, written

opened = partial(visits.opened, "foundations/pictures/page.py")


def test_a_visitors_own_model_has_its_classes_and_others_are_refused(allowed):
    written(*PICTURES["vit, classes, grey"], allowed / "seeing")
    brought("./seeing")
    test = opened(vit="./seeing", layer="1", token="9")
    assert {"head", "heads", "rollout", "distances", "learned", "classes"} == set(figures(test))
    assert "patch 2, 2" in figures(test)["head"][0]["caption"]
    brought("./llama")
    refused = opened(vit="./llama")
    assert "it reads texts, and what is shown here is made of pictures." in visits.said(refused, "info")
    assert "Most likely: green" in figures(refused)["classes"][0]["caption"]  # of the one that ships


def test_the_class_is_the_colour_of_the_largest_shape():
    assert figures(opened(drawn="shapes"))["classes"][0]["caption"].startswith("Most likely: green, with ")


def test_a_head_and_a_patch_are_those_of_the_address():
    head, _ = figures(opened(drawn="a house", layer="1", head="2", token="11"))["head"]
    assert head["caption"].startswith("Head 1.2: patch 1, 0 attends most to patch ")


def test_a_picture_of_ones_own_takes_the_place_of_the_example():
    test, file = opened(vit="colours"), io.BytesIO()
    before = figures(test)["head"]
    Image.new("RGB", (50, 40), (200, 30, 40)).save(file, "WEBP")
    test.file_uploader(key="picture:file_uploader").upload("a.webp", file.getvalue(), "image/webp")
    assert figures(visits.run(test))["head"] != before
    assert "Your picture is shown" in visits.said(test, "caption")
    test.file_uploader(key="picture:file_uploader").upload("a.webp", file.getvalue()[:60], "image/webp")
    assert figures(visits.run(test))["head"] == before
    assert "This is no PNG, JPEG or WebP picture; save it as one of these." in visits.said(test, "warning")
