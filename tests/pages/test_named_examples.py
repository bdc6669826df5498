"""What fixed sentences of pages say of an example that they name: a model on a text, stored runs, published constants.

A sentence about a text or a model that a visitor chooses is a Finding instead, and tested where it is made.
"""

from typing import Any

import numpy as np
import pytest

from pages.inference.generation import beam
from pages.inside.features.grow import BEGIN, STREAM, GrowDictionaryConfig, grow_dictionary
from pages.inside.interventions import patch
from pages.inside.reading import BOY
from pages.inside.stream.choice import TEXT, TOKENS
from pages.ui import cache
from tests.nightly import nightly
from tfcore.measures import lenses
from tfcore.measures.heads.induction_heads import copying, random_rows, twice
from tfcore.measures.interventions import effect
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.measures.one_text import first_tokens
from tfcore.measures.scaling_laws import LAWS, named_law
from tfcore.training.finetuning import kept_runs
from tfcore.training.ladder import SHIPPED, rows_of
from tfcore.training.preference import kept_preferences
from tfcore.training.preference_runs import BETAS
from tfcore.views.inference.generation.measure.beam_tree import search_text
from tfcore.views.inside.in_context.measure.accuracy import kept
from tfcore.views.inside.in_context.measure.steps import kept_steps
from tfcore.views.inside.interventions.measure import patching
from tfcore.views.inside.stream.measure import skip
from tfcore.views.inside.stream.measure.lens import lens_of
from tfcore.views.sources import Reading
from tfcore.views.training.scaling.measure import ladder_fit as scaling
from tfcore.views.training.scaling.measure.ladder_fit import FEWEST
from tfcore.views.training.scaling.measure.law_curves import law_curves


@pytest.fixture(scope="module")
def stories() -> Any:
    return cache.model("stories")


def test_greedy_loses_where_a_thing_to_try_says_so():
    asked = beam.TRY["greedy loses"]
    model, tokenizer = cache.model(asked["model"])
    given = asked["text"], TOKENS, asked["beams"], asked["steps"], asked["length_penalty"], ()
    assert search_text(model, tokenizer, *given).left_at > 0


@nightly
@pytest.mark.parametrize("seed", [0, 1])
def test_random_directions_recover_half_of_the_loss_in_the_stream_and_nothing_in_layer_2(seed):
    assert (BEGIN.n_features, BEGIN.top_k) == (512, 16)

    def at_first(dictionary: int) -> float:
        config = GrowDictionaryConfig(dictionary=dictionary, steps=50, seed=seed)
        first = next(found for found in grow_dictionary(config) if found is not None)
        return float(first.moment.quality.loss_recovered)

    assert at_first(STREAM) > 0.5
    assert at_first(2) < 0.1


def test_one_induction_head_of_stories_can_be_missed_and_both_cannot(stories):
    def losses(*off: tuple[int, int]) -> tuple[float, float]:
        found = copying(stories[0], twice(random_rows(stories[0].config.vocab_size, 24, 4, 0)), 24, off)
        return float(found.losses[~found.repeated].mean()), float(found.losses[found.repeated].mean())

    first, second = losses()
    assert losses((3, 0))[1] < second + 0.05 * (first - second)
    assert losses((3, 0), (3, 2))[1] > 0.95 * losses((3, 0), (3, 2))[0]


def test_from_which_stage_on_stories_predicts_the_ball_again(stories):
    found, pieces = lens_of(Reading("stories", TEXT), lenses.stages(stories[0].config), None)
    first = {stage: guesses[-1][0] for stage, guesses in zip(found.stages, pieces, strict=True)}
    assert [first[f"blocks.{stage}"] for stage in ("0.resid_post", "1.resid_mid")] == [" red", " ball"]
    assert set(list(first.values())[3:]) == {" ball"}
    assert found.probability[found.stages.index("blocks.3.resid_mid"), -1, 0] == pytest.approx(0.999, abs=5e-4)


def test_the_largest_share_is_not_the_largest_effect_of_skipping_it(stories):
    model, tokenizer = stories
    ids, (ball,) = first_tokens(model, tokenizer, TEXT, TOKENS).ids, tokenizer.encode(" ball")
    shares = contributions(model, stream_parts(model, ids, len(ids) - 1), ball, "mean")
    attention = np.asarray(shares.heads).sum(1)
    assert attention.argmax() == 3
    assert attention[3] > np.asarray(shares.feedforward).max()
    assert attention[0] / attention[3] == pytest.approx(1 / 3, abs=0.03)

    def without(layer: int) -> float:
        edits = skip.skip_edits((f"blocks.{layer}.attn_out",))
        return float(effect(model, ids, edits, len(ids) - 1).after[ball])

    assert [round(100 * without(layer)) for layer in (3, 0)] == [57, 3]


def test_the_last_block_does_not_read_what_differs_from_where_it_stood(stories):
    source, target = (stories[1].encode(text) for text in (patch.OTHER, BOY))
    both = patching.pair(stories[0], source, target)
    shares = patching.all_shares(list(patching.patch_each(stories[0], both, "residual")), len(both.target))
    ((at,),) = (both.differing,)
    assert shares[0, at] == pytest.approx(1, abs=1e-3)
    assert abs(shares[3, at]) < 0.1


def test_what_smollm2_takes_from_examples():
    def right(task: str, labels: str, examples: int) -> float:
        (curve,) = (one for one in kept()["smollm2", task].curves if one.labels == labels)
        return curve.right[examples] / curve.prompts

    assert right("capitals", "random", 16) > 0.85
    assert right("capitals", "right", 0) < 0.15
    assert abs(right("code", "random", 16) - kept()["smollm2", "code"].guess) < 0.1
    assert kept_steps().model == "smollm2"
    assert all("The answer is" in one.text and one.text.count("=") == 2 for one in kept_steps().steps)
    assert sum(one.right for one in kept_steps().steps) < 0.1 * len(kept_steps().steps)


def test_stored_runs_of_fine_tuning_learn_and_forget():
    for run in kept_runs():
        new, old = ([getattr(losses, which) for losses in run.losses] for which in ("new", "old"))
        half = len(new) // 2
        assert new[0] - new[half] > 5 * abs(new[half] - new[-1]), run.config
        assert old[0] < old[half] < old[-1], run.config


@pytest.mark.parametrize("reward", ["animals", "happy", "short"])
def test_what_beta_does_in_stored_runs(reward):
    runs = [run for run in kept_preferences() if run.config.reward == reward]
    for seed in {run.config.seed for run in runs}:
        ends = {(run.config.algorithm, run.config.beta): run.points[-1] for run in runs if run.config.seed == seed}
        policy, pairs = ([ends[kind, beta] for beta in BETAS] for kind in ("reinforce", "dpo"))
        assert policy[0].reward > policy[-1].reward
        assert max(pairs, key=lambda end: end.kl) is pairs[0]
        assert max(end.reward for end in pairs) > pairs[0].reward


@pytest.mark.parametrize("name", [*LAWS, "kaplan"])
def test_a_billion_tokens_stay_far_above_the_end_of_unlimited_ones(name):
    curves = law_curves(named_law(name), "size")
    few, unlimited = (curves.loss[curves.held.index(tokens)] for tokens in (1e9, float("inf")))
    assert np.min(few) > np.min(unlimited) + 0.5
    assert bool(law_curves(named_law(name), "compute").held) == (name != "kaplan")


@nightly
def test_the_floor_and_the_term_of_size_move_with_the_sizes_that_are_fitted():
    laws = [scaling.fitted(sizes).law for sizes in range(FEWEST, len(scaling.fitted(None).sizes))]

    def moves(name: str) -> float:
        values = [getattr(law, name) for law in laws]
        return float(max(values) / min(values) - 1)

    assert min(map(moves, ("floor", "a", "alpha"))) > max(map(moves, ("b", "beta")))


def test_what_eight_and_four_bits_do_to_smollm2():
    rows = [row for row in rows_of(SHIPPED / "quantisation.csv") if row["model"] == "smollm2"]
    plain = next(float(row["loss"]) for row in rows if row["format"] == "float32")

    def worse(part: str, data_type: str, how: str) -> float:
        key = part, data_type, how
        return next(float(row["loss"]) for row in rows if (row["part"], row["format"], row["how"]) == key) / plain - 1

    for how in ("token", "tensor, outliers apart"):
        assert worse("activations", "int8", how) < 0.01
        assert worse("activations", "int4", how) > 1
        assert worse("both", "int8", how) < 0.015
    assert worse("activations", "int8", "tensor") > 0.2
