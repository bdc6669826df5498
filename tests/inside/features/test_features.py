"""Features of a text and of one feature, beside plain loops; what is said of them, and a feature off or forced on."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import ids, model
from tfcore.inspection.transcoders import SparseAutoencoder, Transcoder, TranscoderConfig
from tfcore.loading.checkpoints import load
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.dictionaries.labels import NOTHING, PROPERTIES, FeatureLabels, load_labels
from tfcore.measures.token_text import visible
from tfcore.views.inside.features import say
from tfcore.views.inside.features.measure import held_feature as feature_edits
from tfcore.views.inside.features.measure import of_text, one_feature
from tfcore.views.inside.features.measure.one_feature import FeaturePromotion
from tfcore.views.inside.features.measure.ratings import LEAST_FIRES
from tfcore.views.inside.features.say import FeatureFires, Readability, TokenFeatures

SHAPE = {"d_model": 24, "n_features": 50, "top_k": 5}
TEXT = ids(1, 11, seed=4)[0].tolist()
LAYER = Transcoder(TranscoderConfig.of_mlp(1, **SHAPE), 1).requires_grad_(False)
STREAM = SparseAutoencoder(TranscoderConfig.of_stream(0, **SHAPE), 2).requires_grad_(False)
BOTH = pytest.mark.parametrize("of", [LAYER, STREAM], ids=["layer", "stream"])


@pytest.fixture(scope="module")
def stories():
    return load("stories", device="cpu")


@pytest.fixture(scope="module")
def scan():
    return load_feature_scan("stories")


def test_names():
    assert of_text.dictionary_name(LAYER) == "feed-forward 1"
    assert of_text.dictionary_name(STREAM) == "stream after block 0"
    assert of_text.feature_title(LAYER, 7) == "feature 1/7"
    assert of_text.feature_title(STREAM, 7) == "feature stream/7"


@BOTH
def test_activations_are_the_largest_of_each_token(of):
    found = of_text.feature_activations(model(), of, TEXT)
    x = model()(torch.tensor([TEXT]), capture=(of.config.reads,)).activations[of.config.reads][0].tolist()
    for token, own in zip(x, found, strict=True):
        plain = [
            math.fsum(w * v for w, v in zip(row, token, strict=True)) + float(b)
            for row, b in zip(of.W_enc.tolist(), of.b_enc, strict=True)
        ]
        kept = sorted(range(50), key=lambda i: -plain[i])[:5]
        wanted = [max(plain[i], 0) if i in kept else 0 for i in range(50)]
        assert own.tolist() == pytest.approx(wanted, abs=1e-4)


def test_the_strongest_stand_in_the_order_of_the_tokens():
    values = np.array([[0.0, 3.0, 0.5, 0.0], [2.0, 1.0, 0.0, 0.0], [4.0, 0.0, 0.7, 0.0]])
    assert of_text.strongest_features(values, 3).tolist() == [1, 0, 2]
    assert of_text.strongest_features(values, 2).tolist() == [1, 0]
    assert of_text.strongest_features(values, 9).tolist() == [1, 0, 2]  # none that is 0 everywhere
    said = say.strongest_feature(LAYER, values, ["a", " b", "c"])
    assert (said.values["active"], said.values["per_token"]) == (3, 2.0)
    assert str(said) == (
        "Of 4 features, 2.0 are active at a token on average, 3 somewhere in its 3 tokens; the largest activation is "
        "4.00, of feature 1/0 at 'c' (2)."
    )


def test_what_the_scan_says_of_a_feature(stories, scan):
    of = load_transcoders("stories").each[4]
    said = say.feature_fires(scan, of, 4, 622, stories[1])
    assert said.fires == scan.fires[4, 622]
    assert said.tokens == tuple(stories[1].tokens(scan.token[4, 622, :3].tolist()))
    assert said.largest == scan.value[4, 622].max()
    assert str(FeatureFires("feature 2/5", 50, 1000, 2.5, (" a",), (0.4,))) == (
        "Feature 2/5 is active at 50 of 1,000 held-out tokens (5.0%), at most with 2.50; of these, most often at "
        "'·a' 40%."
    )
    assert str(FeatureFires("feature 2/5", 0, 1000, 0.0, (), ())) == (
        "Feature 2/5 is active at none of 1,000 held-out tokens."
    )


def test_the_largest_activation_of_each_feature_is_what_others_are_divided_by(scan):
    found, largest = scan.record(3), scan.value[3].max(1)
    assert found.tolist() == [value if value > 0 else 1 for value in largest.astype(np.float32).tolist()]
    assert found[118] == 1, "one that never fired"


def test_the_strongest_texts_are_read_again(stories, scan):
    found = one_feature.feature_texts(stories[0], "stories", 2, 258)
    assert [one.stored for one in found] == scan.value[2, 258].tolist()
    for one in found:
        assert one.values[one.peak] == pytest.approx(one.stored, rel=5e-3)
        assert one.values[8:].argmax() + 8 == one.peak
    assert one_feature.feature_texts(stories[0], "stories", 3, 118) == []  # one that was never active


@pytest.mark.parametrize(("dictionary", "feature"), [(4, 622), (3, 189)])
def test_what_it_promotes_is_its_share_of_the_logits(stories, scan, dictionary, feature):
    """The final norm with its scale held is linear: without the feature the logits are lower by just that."""
    network, tokenizer = stories
    said = one_feature.feature_promotion(network, tokenizer, "stories", dictionary, feature)
    row = torch.tensor([scan.ids(int(scan.window[dictionary, feature, 0]))])
    place = int(scan.position[dictionary, feature, 0])
    assert said.activation == scan.value[dictionary, feature].max()
    state = network(row, capture=("blocks.3.resid_post",)).activations["blocks.3.resid_post"][0, place].double()
    written = said.activation * load_transcoders("stories").each[dictionary].W_dec[feature].double()
    rms = (state.square().mean() + network.config.norm.eps).sqrt()
    table = network.embed.weight.double()
    lift = table @ ((state / rms - (state - written) / rms) * network.decoder.ln_final.weight.double())
    ids = lift.argsort(descending=True).tolist()
    chosen = [*ids[:8], *ids[-4:]]
    assert said.tokens == tuple(tokenizer.tokens(chosen))
    assert said.lifts == pytest.approx(lift[chosen].tolist(), abs=1e-3)


def test_the_sentence_of_promotion():
    found = FeaturePromotion("feature 1/2", 2.0, ("a", " b", "c", "d"), (3.0, 2.0, -0.5, -1.0), 2)
    assert str(say.promotes(found)) == (
        "Where its activation is 2.00, feature 1/2 directly raises the logits of 'a' by 3.00, '·b' by 2.00, and lowers "
        "those of 'd' by 1.00, 'c' by 0.50."
    )
    assert "is never active" in str(say.promotes(found._replace(activation=0.0)))


def test_neighbours_are_those_with_the_largest_cosines():
    of = Transcoder(TranscoderConfig.of_mlp(1, **SHAPE), 1).requires_grad_(False)
    of.W_dec.mul_(torch.linspace(0.5, 2, 50)[:, None])  # a cosine does not depend on lengths
    found = one_feature.feature_neighbours(of, 3, 4)
    rows = of.W_dec.double()
    cosines = {i: float(torch.cosine_similarity(rows[3], rows[i], dim=0)) for i in range(50) if i != 3}
    best = sorted(cosines, key=lambda i: -cosines[i])[:4]
    assert found.features == tuple(best)
    assert found.cosines == pytest.approx([cosines[i] for i in best], abs=1e-5)
    assert str(say.nearest(of, 3, found)) == (
        f"Of all features of its dictionary, {best[0]} writes most nearly the same as feature 1/3: cosine "
        f"{cosines[best[0]]:.2f}."
    )


def test_the_words_of_a_feature(stories, scan):
    found = one_feature.token_words(scan, 3, stories[1])
    assert found[189] == "·big ·small ·the"
    assert found[118] == ""


def labels_by_hand():
    """Five features: at two tokens, after a kind, at positions, before what they promote, and one without a score."""
    values = np.full((1, 6, 8), NOTHING, np.uint16)
    values[0, 0, :2], values[0, 1, :1], values[0, 2, :2], values[0, 3, :1], values[0, 4, :1] = (9, 4), 1, (5, 1), 7, 9
    rule = [PROPERTIES.index(one) for one in ("token", "kind before", "position", "promoted", "before")]
    return FeatureLabels(
        rule=np.array([[*rule, NOTHING]]),
        values=values,
        found=np.array([[0.8, 0.5, 0.4, 0.1, np.nan, np.nan]]),
        marked=np.array([[0.002, 0.1, 0.2, 0.1, np.nan, np.nan]]),
        fires=np.array([[50, 20, 30, 40, 3, 0]]),
        read=np.array([1000]),
    )


def test_a_label_says_its_rule_and_its_score(stories):
    made, tokenizer = labels_by_hand(), stories[1]
    tokens = [visible(token) for token in tokenizer.tokens([9, 4, 7])]
    said = [str(say.label(made, 0, feature, f"feature 2/{feature}", tokenizer)) for feature in range(6)]
    assert said[0] == (
        f"Label: fires at '{tokens[0]}', '{tokens[1]}'. Balanced accuracy on other texts 0.90 (chance 0.50): this "
        "holds at 80% of the 50 places where it fires, and at 0.2% of all others."
    )
    assert said[1].startswith("Label: fires after a token of the kind “name”. Balanced accuracy on other texts 0.70")
    assert said[2].startswith("Label: fires at positions 8 to 15 or 40 to 47 of a text. Balanced accuracy")
    assert said[3].startswith(f"Label: fires before '{tokens[2]}', the tokens it promotes. Balanced accuracy on other")
    assert said[4] == (
        f"Label: fires after '{tokens[0]}'. In the texts that labels are tried on it fires 3 times: too few for a "
        "score."
    )
    assert said[5].startswith("Feature 2/5 fires too rarely for a label: at fewer than 10 places")
    summed = say.labels_of(made, 0, "it")
    assert summed.values["count"] == 4
    assert summed.values["middle"] == pytest.approx(0.65)  # of 0.9, 0.7, 0.6 and 0.5
    none = replace(made, found=made.found * np.nan)
    assert str(say.labels_of(none, 0, "it")) == "No feature of it fires often enough for a label."


@pytest.mark.parametrize("dictionary", range(5))
def test_most_shipped_labels_are_better_than_chance_and_belong_to_the_scan(scan, dictionary):
    """In the texts of the scan the values of a rule of tokens are among those that the feature fires on most."""
    made = load_labels("stories")
    scores = made.score[dictionary]
    assert np.nanmedian(scores) > 0.7
    assert (scores[np.isfinite(scores)] > 0.5).mean() > 0.98
    assert np.isfinite(scores).sum() > 1_300
    of_tokens = np.flatnonzero(made.rule[dictionary] == PROPERTIES.index("token"))[::50]
    for feature in of_tokens:
        frequent = set(scan.token[dictionary, feature].tolist())
        assert frequent & set(made.values[dictionary, feature].tolist())


def test_rules_at_their_limits(scan, stories):
    """Ten firings are enough, and nine tenths of them on one token; a slot without a token has no share."""
    share = np.array([[0.9, 0.1], [0.875, 0.0], [1.0, 0.0]])
    made = replace(
        scan,
        window=np.zeros((1, 3, 1), np.uint16),
        position=np.zeros((1, 3, 1), np.uint8),
        value=np.ones((1, 3, 1)),
        fires=np.array([[10, 11, 9]]),
        token=np.array([[[7, 0], [7, 0], [7, 0]]], np.uint16),
        token_share=share[None],
        histogram=np.zeros((1, 3, 2)),
    )
    said = say.readability(made, 0, "it")
    assert (said.features, said.one_token, said.read) == (2, 1, int(scan.read[0]))
    found = say.features_of_token(made, 0, "it", 7, stories[1])
    assert (found.features, found.shares) == ((0, 1), (0.9, 0.875))
    assert say.features_of_token(made, 0, "it", 0, stories[1]).features == (0,)


@pytest.mark.parametrize("dictionary", range(5))
def test_readability_is_counted_by_its_rule(scan, dictionary):
    said = say.readability(scan, dictionary, "it")
    counted = one = same = 0
    for feature in range(scan.fires.shape[1]):
        if scan.fires[dictionary, feature] < LEAST_FIRES:
            continue
        counted += 1
        one += bool(max(scan.token_share[dictionary, feature]) >= 0.9)
        peaks = [
            (scan.ids(int(window))[int(place)] if value > 0 else None)
            for window, place, value in zip(
                *(a[dictionary, feature] for a in (scan.window, scan.position, scan.value)), strict=True
            )
        ]
        same += None not in peaks and len(set(peaks)) == 1
    assert (said.features, said.one_token, said.same_peak) == (counted, one, same)


def test_what_is_said_of_readability():
    assert str(Readability("feed-forward 1", 200, 3, 50, 5, 4000)) == (
        "Of the 200 features of feed-forward 1 that are active at 10 or more of 4,000 held-out tokens, 3 (1.5%) are "
        "active on one token alone, by the rule that at least 90% of these places have the same token; 50 (25%) have "
        "the same token at the peaks of all 5 of their strongest texts."
    )
    assert str(Readability("it", 0, 0, 0, 5, 40)) == "No feature of it is active at 10 of 40 held-out tokens."


def test_search_by_a_token(stories, scan):
    dog = stories[1].encode(" dog")[0]
    found = say.features_of_token(scan, 1, "feed-forward 1", dog, stories[1])
    shares = {}
    for feature in range(scan.fires.shape[1]):
        for token, share in zip(scan.token[1, feature].tolist(), scan.token_share[1, feature], strict=True):
            if token == dog and share > 0 and scan.fires[1, feature] >= LEAST_FIRES:
                shares[feature] = float(share)
    best = sorted(shares, key=lambda one: -shares[one])[:8]
    assert found.features == tuple(best)
    assert found.shares == pytest.approx([shares[one] for one in best])
    assert str(TokenFeatures(" dog", "it", (4, 2), (0.5, 0.25))) == (
        "Features of it by the share of the places where they are active that have '·dog': 4 (50%), 2 (25%)."
    )
    assert str(TokenFeatures(" dog", "it", (), ())) == "No feature of it has '·dog' among its most frequent tokens."


@BOTH
@pytest.mark.parametrize("level", [0.0, 2.5])
def test_a_held_feature_changes_what_is_written_by_its_row_alone(of, level):
    subject = model()
    values = of_text.feature_activations(subject, of, TEXT)
    feature = int(values.max(0).argmax())
    name = of.config.writes
    as_is = subject(torch.tensor([TEXT]), capture=(name,)).activations[name][0]
    edits = feature_edits.hold_feature(of, feature, level)
    written = subject(torch.tensor([TEXT]), capture=(name,), edits=edits).activations[name][0]
    for token in range(len(TEXT)):
        wanted = as_is[token] + (level - float(values[token, feature])) * of.W_dec[feature]
        assert written[token].tolist() == pytest.approx(wanted.tolist(), abs=1e-4)


@pytest.mark.parametrize(("dictionary", "feature"), [(4, 622), (2, 258)])
def test_the_text_that_follows_is_that_of_whole_passes(stories, dictionary, feature):
    """With a KV cache or without, a token at a time."""
    network, tokenizer = stories
    text = tokenizer.encode("Lily had a dog. One day, they went to the park and saw a big")
    found = feature_edits.held_feature(network, "stories", text, dictionary, feature, 1.0, 6)
    of = load_transcoders("stories").each[dictionary]
    largest = float(load_feature_scan("stories").value[dictionary, feature, 0])
    assert found.level == largest
    own = list(text)
    for _ in range(6):
        edits = feature_edits.hold_feature(of, feature, largest)
        own.append(int(network(torch.tensor([own]), edits=edits).logits[0, -1].argmax()))
    assert list(found.after) == own[len(text) :]
    logits = network(torch.tensor([text]), edits=feature_edits.hold_feature(of, feature, largest)).logits[0, -1]
    assert found.effect.after.tolist() == pytest.approx(logits.softmax(-1).tolist(), abs=1e-5)
    assert feature_edits.held_words(of, feature, 0.0, 0.0).endswith(" off")
    assert found.what.endswith(f" at {largest:.2f} (1 times its largest)")
