"""Pictures of an atlas, and what is said of them, beside values planted by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.inside.atlas.small import SHAPE, small_atlas
from tests.pages.figures import array
from tfcore.charts import theme
from tfcore.measures.atlas.search import LEAST
from tfcore.measures.atlas.token_kinds import KINDS, PARTITION
from tfcore.views.finding import Statement
from tfcore.views.foundations.heads.measure.attention import attention
from tfcore.views.inside import atlas as views
from tfcore.views.inside.atlas import measure, say
from tfcore.views.inside.atlas.draw import ExampleRow, examples_figure, letters
from tfcore.views.sources import Reading

SAM = "Sam was a little boy. One day, Sam said that"
RISING = np.arange(6.0).reshape(SHAPE)


def values_of(view):
    """The values of the first finding."""
    (first, *_) = view.findings
    assert isinstance(first, Statement)
    return first.values


def pairs_with(query, key, value, place):
    """Pairs of all heads, one of them with another weight."""
    pairs = small_atlas().pairs.copy()
    pairs[place][KINDS.index(query), KINDS.index(key)] = value
    return pairs


def test_dots_are_the_two_measures_and_carry_their_heads():
    atlas = small_atlas({"activity": RISING / 10, "effect": -RISING})
    shown = views.scatter("stories", "activity", "effect", layer=1, head=1, so_far=atlas)
    dots = shown.chart.to_dict()["data"][0]
    assert dots["customdata"] == [[layer, head] for layer in range(3) for head in range(2)]
    assert array(dots["x"]).tolist() == pytest.approx((RISING / 10).ravel().tolist())
    assert array(dots["y"]).tolist() == pytest.approx((-RISING).ravel().tolist())
    said = values_of(shown)
    assert (said["head"], said["value"], said["correlation"]) == ("head 0.0", 0.0, pytest.approx(-1))
    assert "tales 75%, code 25%" in str(shown)
    theme.check(shown.chart)


def test_heads_without_a_number_are_not_counted():
    holes = RISING.copy()
    holes[2, 1] = np.nan
    shown = views.scatter("stories", "bracket", "activity", so_far=small_atlas({"bracket": holes}))
    assert values_of(shown)["heads"] == 5
    nothing = small_atlas({"bracket": np.full(SHAPE, np.nan)})
    assert "Fewer than three heads" in str(views.scatter("stories", "bracket", "activity", so_far=nothing))


@pytest.mark.parametrize("seed", range(3))
def test_ranks_correlate_as_scipy_has_it(seed):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 8, 40).astype(float), random.normal(size=40)
    assert say.rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert say.rank_correlation(np.ones(40), y) == 0


def test_heads_on_the_list_are_strong_and_the_others_faint_and_the_table_has_those_alone():
    shown = views.scatter("stories", "activity", "effect", chosen=((2, 0), (0, 1)), so_far=small_atlas())
    opacity = array(shown.chart.to_dict()["data"][0]["marker"]["opacity"]).tolist()
    assert [one > 0.5 for one in opacity] == [False, True, False, False, True, False]
    assert shown.numbers()[["layer", "head"]].to_numpy().tolist() == [[2, 0], [0, 1]]
    assert len(views.scatter("stories", "activity", "effect", so_far=small_atlas()).numbers()) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("stories", "charm", "effect"), "'charm' was not measured; there are first"),
        (("stories", "activity", "next"), "'next' was not measured"),
        (("stories", "activity", "effect", "layer", (), 3, 0), "there is no head 3.0: the last one is 2.1"),
    ],
)
def test_what_is_not_there_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        views.scatter(*arguments, so_far=small_atlas())


def test_kinds_of_heads_follow_from_their_weight_off_the_sink():
    even = {"first": np.full(SHAPE, 0.5), "self": np.zeros(SHAPE), "previous": np.zeros(SHAPE), "same": np.zeros(SHAPE)}
    even["after_same"] = np.zeros(SHAPE)
    planted = {name: value.copy() for name, value in even.items()}
    planted["first"][0, 0] = 0.95
    planted["previous"][0, 1] = 0.3  # 60 % of what is not on the sink
    planted["self"][1, 0] = 0.25
    planted["after_same"][1, 1] = 0.45
    near = small_atlas().distances.copy()
    near[2, 0] = [0, 0.4, 0, 0, 0.02, 0.02, 0.02, 0.04]
    near[2, 1] = [0, 0.1, 0, 0, 0.1, 0.1, 0.1, 0.1]
    assert measure.head_kinds(small_atlas(planted, distances=near)).tolist() == [
        ["first token", "previous token"],
        ["self", "induction"],
        ["local", "broad"],
    ]


def test_a_head_stands_at_its_rank_and_stands_out_by_the_extremes():
    values = {"activity": RISING, "distance": -RISING, "entropy": np.full(SHAPE, 1.0)}
    shown = views.measures("stories", 2, 1, so_far=small_atlas(values))
    assert (shown.result["activity"].rank, shown.result["distance"].rank, shown.result["entropy"].rank) == (1, 6, 1)
    assert "is 1st by" in str(shown)
    assert "6th by distance (-5)" in str(shown)
    assert [measure.ordinal(i) for i in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th")
    ]
    theme.check(shown.chart)


def test_distances_are_those_of_the_head_beside_the_median_of_all():
    weights = small_atlas().distances.copy()
    weights[1, 0, 2] = 0.9
    shown = views.distances("stories", 1, 0, so_far=small_atlas(distances=weights))
    assert "0.90 of its weight on tokens at a distance of 2-3" in str(shown)
    assert "the median of all heads there is 0.06" in str(shown)
    both = views.distances("stories", 0, 0, so_far=small_atlas(ahead=weights))
    assert {trace["name"] for trace in both.chart.to_dict()["data"]} == {"before", "after", "median of all heads"}


def test_the_pair_of_kinds_is_the_one_most_beyond_distance():
    pairs = pairs_with("pronoun", "name", 0.45, (1, 0))
    shown = views.kinds("stories", 1, 0, so_far=small_atlas(pairs=pairs))
    assert "From a pronoun on a name head 1.0 puts 0.45 of its weight" in str(shown)
    assert "would give 0.10" in str(shown)
    assert "makes little difference to head 0.0" in str(views.kinds("stories", 0, 0, so_far=small_atlas(pairs=pairs)))
    few = np.full(len(KINDS), LEAST - 1)
    assert "No kind of token has 50 queries" in str(views.kinds("stories", 1, 0, so_far=small_atlas(counts=few)))
    assert measure.telling_head(small_atlas(pairs=pairs)) == (1, 0)
    rare = np.where(np.array(KINDS) == "pronoun", 3, 100)
    assert measure.telling_head(small_atlas(pairs=pairs, counts=rare)) == (0, 0)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.1, 0.3, "the model needs it"), (-0.1, 0.3, "the interval holds 0"), (-0.3, -0.1, "does better without it")],
)
def test_the_effect_says_what_its_interval_allows(low, high, verdict):
    by_text = np.zeros((*SHAPE, 5))
    by_text[2, 0] = [0.5, -0.1, 0.2, 0.4, 0.0]
    effects = {"effect": by_text.mean(-1), "effect_low": np.full(SHAPE, low), "effect_high": np.full(SHAPE, high)}
    shown = views.effect("stories", 2, 0, so_far=small_atlas(effects, by_text=by_text))
    assert verdict in str(shown)
    assert "changes by +0.2000 nats per token" in str(shown)
    assert "it rises in 3 of 5 texts" in str(shown)
    assert "1st of 6 heads" in str(shown)
    theme.check(shown.chart)


def test_an_effect_that_was_not_measured_is_refused():
    whole = small_atlas()
    without = {name: value for name, value in whole.measures.items() if name != "effect"}
    with pytest.raises(ValueError, match="was not measured here"):
        views.effect("stories", 0, 0, so_far=replace(whole, measures=without))


def test_an_example_is_cut_into_pieces_whose_boxes_stand_behind_their_tokens():
    row = ExampleRow(10, ("The", "·cat", None, "·saw", "·it"), 4, 1, 0.5)
    figure = examples_figure([row]).to_dict()["layout"]
    said = [note["text"] for note in figure["annotations"]]
    assert said == ["10th tenth", "0.50", "The", "cat", "⋯ saw", "it"]
    [key, query] = figure["shapes"]
    assert (key["line"]["color"], query["line"]["color"]) == ("@key", "@query")
    shifts = {note["text"]: note["xshift"] for note in figure["annotations"]}
    assert key["x0"] == pytest.approx(shifts["cat"])
    assert key["x1"] - key["x0"] == pytest.approx(letters("cat") * 7.2 + 4)
    assert shifts["it"] - shifts["cat"] == pytest.approx(7.2 * len("cat⋯ saw "))


def test_of_a_short_text_nothing_is_made_up():
    holes, none = np.full(SHAPE, np.nan), np.where(np.isin(KINDS, ("any", "noun")), 3, 0)
    values = dict.fromkeys(("bracket", "same", "after_same"), holes)
    pairs = np.full_like(small_atlas().pairs, np.nan)
    short = small_atlas(values, counts=none, pairs=pairs, by_position=pairs, deciles=np.full((*SHAPE, 10), np.nan))
    for shown in (
        views.scatter("stories", "same", "after_same", "kind", so_far=short),
        views.measures("stories", 0, 0, so_far=short),
        views.kinds("stories", 0, 0, so_far=short),
        views.examples("stories", 0, 0, so_far=short),
        views.nearest("stories", 0, 0, so_far=short),
        views.search("stories", "pronoun", "noun", so_far=short),
    ):
        assert "nan" not in str(shown)
        shown.numbers()
        theme.check(shown.chart)


# ---- the text and the distribution ----


def usually(place, **shares):
    """An atlas in which a head gives kinds of tokens these shares of 0.5."""
    pairs = np.zeros_like(small_atlas().pairs)
    pairs[..., 0, 0] = 0.5
    for kind, share in shares.items():
        pairs[place][0, KINDS.index(kind.replace("_", " "))] = share * 0.5
    return small_atlas(pairs=pairs, tokens=300_000)


def test_a_head_that_looks_at_a_name_here_and_usually_at_full_stops_says_so(monkeypatch):
    monkeypatch.setattr(measure, "load_atlas", lambda _: usually((2, 1), full_stop=0.6, name=0.05))
    reading = Reading("stories", "Then Lily saw Tom. Then Lily")
    read = attention(reading)
    names = [i for i, token in enumerate(read.keys) if token in (" Lily", " Tom")]
    query = len(read.keys) - 1
    found = measure.role_on_text(reading, (2, 1), query)
    pattern = read.maps.patterns[2, 1, query]
    off = pattern * ~read.sink
    on_names = sum(off[i] for i in names) / off.sum()
    assert found.here[PARTITION.index("name")] == pytest.approx(on_names, abs=1e-5)
    assert found.usual[PARTITION.index("full stop")] == pytest.approx(0.6)
    assert found.key == int(np.where(np.arange(len(off)) == query, 0, off).argmax())


ROLE = {
    "place": (13, 8),
    "query": "·to",
    "key": "·Mary",
    "weight": 0.62,
    "kind": "name",
    "here": "name",
    "here_share": 0.71,
    "here_usually": 0.09,
    "usual": "full stop",
    "usual_share": 0.41,
    "rests_here": 0.12,
    "rests_usually": 0.4,
    "tokens": 300_000,
}


def test_the_verdict_on_a_role():
    told = str(say.RoleCompared(**ROLE))
    assert "looks at “·Mary”, a token of the kind “name”, with 0.62 of its weight." in told
    assert "not its usual role: over 300,000 tokens the largest share of what it does, 41%, goes to the kind" in told
    assert "“full stop”, and 9% to the kind “name”, which gets 71% here." in told
    usual = str(say.RoleCompared(**{**ROLE, "usual": "name", "usual_share": 0.5, "query": None}))
    assert usual.startswith(
        "That is its usual role: the largest share of what it does goes to the kind “name”, 71% here"
    )
    assert "It rests here, with 95% of its weight on the sink (40% over" in str(
        say.RoleCompared(**{**ROLE, "rests_here": 0.95})
    )
    assert "looks at no other token" in str(say.RoleCompared(**{**ROLE, "key": None}))


@pytest.mark.parametrize("text", ["a", SAM])
def test_all_tokens_or_one_and_a_text_of_one(text, monkeypatch):
    monkeypatch.setattr(measure, "load_atlas", lambda _: usually((0, 0), noun=0.5))
    shown = views.role(Reading("stories", text), 0, 0)
    assert shown.result.key is None
    assert shown.result.here.sum() <= 2
    assert "looks at no other token" in str(views.role(Reading("stories", text), 0, 0, 0))


def test_a_model_in_memory_has_no_stored_atlas():
    with pytest.raises(ValueError, match="give a text, to measure heads on it"):
        measure.atlas_of((None, None))
