"""A visitor's own model on every page: shown where it is loaded, explained where it will not do, never a traceback."""

import json
import shutil

import pytest

from pages.ui import session
from pages.ui.loading import own_models
from tests import own_folders
from tests.hostile_tokenizers import normalizers, replace
from tests.nightly import nightly, often
from tests.pages.figures import figures
from tests.pages.own_models import brought, keys, wait_for
from tests.pages.visits import opened, run, said
from tfcore.loading import checkpoints

PAGES = {
    "heads": ("foundations/heads/page.py", {}),
    "heads compared": ("foundations/heads/page.py", {"show": "compare", "with": "another text"}),
    "heads cut": ("foundations/heads/page.py", {"show": "cuts"}),
    "home": ("start/home/page.py", {}),
    "masks": ("foundations/masks/page.py", {"kind": "window"}),
    "words": ("foundations/attention/page.py", {"look": "words"}),
    "positions": ("foundations/positions/page.py", {"scheme": "together"}),
    "position table": ("foundations/positions/page.py", {"scheme": "Learned", "table": "Of a model"}),
    "tokens": ("foundations/tokens/page.py", {}),
    "merges": ("foundations/tokens/page.py", {"part": "merges"}),
    "embeddings": ("foundations/tokens/page.py", {"part": "embeddings"}),
    "norms": ("block/normalisation/page.py", {"part": "Which axis"}),
    "skip": ("block/residuals/page.py", {"part": "Skip blocks"}),
    "dropout": ("block/residuals/page.py", {"part": "Dropout"}),
    "neurons": ("block/feedforward/page.py", {}),
    "activations": ("block/feedforward/page.py", {"panel": "activations"}),
    "share": ("block/feedforward/page.py", {"panel": "share"}),
    "parameters": ("model/parameters/page.py", {}),
    "your model": ("model/your_model/page.py", {}),
    "walkthrough": ("start/walkthrough/page.py", {"stage": "softmax"}),
    "text in bits": ("training/information/page.py", {"show": "text"}),
    "next token as bars": ("training/information/page.py", {"of": "model"}),
    "generation": ("inference/generation/page.py", {}),
    "beams": ("inference/generation/page.py", {"show": "Beam search"}),
    "cached": ("inference/kv_cache/page.py", {"steps": "8"}),
    "routing": ("experts/routing/page.py", {}),
    "expert specialisation": ("experts/routing/page.py", {"show": "experts"}),
    "other routing rules": ("experts/routing/page.py", {"show": "what if"}),
    "induction": ("inside/induction/page.py", {}),
    "circuit": ("inside/induction/page.py", {"show": "the induction circuit"}),
    "stream": ("inside/stream/page.py", {}),
    "lens": ("inside/stream/page.py", {"show": "Logit lens"}),
    "interventions": ("inside/interventions/page.py", {}),
    "patches": ("inside/interventions/page.py", {"show": "Activation patching"}),
}
DENSE = (
    "gpt2",
    "llama",
    "gemma2",
    "gemma3",
    "pythia",
    "olmo2",
    "phi",
    "phi3",
    "arcee",
    "apertus",
    "gemma3 that sees",
    "qwen2-vl",
    "nemotron",
    "cohere2",
    "smollm3",
    "falcon",
    "bloom",
    "names",
    "lfm2",
    "mamba2",
    "qwen3.5",
    "falcon-h1",
    "nemotron-h",
)
HYBRIDS = dict.fromkeys(
    ("mamba2", "qwen3 next", "granite 4", "qwen3.5", "nemotron-h"), "layer 0 of it has a state in the place of"
)
HYBRIDS |= {"lfm2": "layer 0 of it has a short convolution", "falcon-h1": "layer 0 of it has a state beside attention"}
EVERY_HEAD = ("positions", "walkthrough", "induction", "circuit")
ENCODERS = ("bert", "feelings", "answers", "roberta", "albert", "mpnet", "deberta", "modernbert")
BOTH = ("t5", "umt5", "bart", "agreement", "marian", "m2m100")
MIXTURES = ("mixtral", "gpt-oss", "qwen3 mixture", "qwen2 mixture", "deepseek", "qwen3 next", "granite 4")
NO_EXPERTS = dict.fromkeys(DENSE, "it has no experts") | dict.fromkeys((*ENCODERS, *BOTH), "needs a decoder")
ELSEWHERE = "Flow traces its answer through both stacks and switches its heads off"
INSTEAD = (
    {  # where a page shows another model, and what it says
        "routing": NO_EXPERTS,
        "expert specialisation": NO_EXPERTS,
        "other routing rules": NO_EXPERTS,
        "masks": dict.fromkeys(BOTH, "needs a decoder or an encoder") | {"mamba2": "none of its layers has attention"},
        "words": dict.fromkeys(BOTH, "needs a decoder or an encoder") | {"mamba2": "none of its layers has attention"},
        "walkthrough": dict.fromkeys(BOTH, "needs a decoder or an encoder")
        | dict.fromkeys(("feelings", "names"), "it tells classes apart")
        | {"deepseek": "from one normalised latent vector (MLA)", "answers": "whether an answer starts or ends there"},
        "dropout": dict.fromkeys(BOTH, "needs a decoder or an encoder"),
        "activations": dict.fromkeys(BOTH, "needs a decoder or an encoder")
        | dict.fromkeys(MIXTURES, "are experts")
        | dict.fromkeys(("mamba2", "nemotron-h"), "has no feed-forward layer"),
        "positions": dict.fromkeys((*ENCODERS, *BOTH), "needs a decoder") | {"bloom": "are alibi"},
        "position table": dict.fromkeys(BOTH, "needs a decoder or an encoder")
        | dict.fromkeys((*DENSE[1:], "modernbert", *MIXTURES), "are rope")
        | {"bloom": "are alibi", "deberta": "are disentangled"}
        | dict.fromkeys(("mamba2", "nemotron-h", "granite 4"), "are none"),
        "merges": dict.fromkeys(
            ("llama", "names", "bert", "feelings", "answers", "albert", "deberta", "t5", "umt5", "marian"),
            "is no byte-level BPE",
        ),
    }
    | {
        page: dict.fromkeys((*ENCODERS, *BOTH), "needs a decoder")
        | {"headless": "without a head", "names": "it tells classes apart"}
        for page in (*("text in bits", "next token as bars", "generation", "beams", "cached", "induction", "circuit"),)
    }
    | dict.fromkeys(("stream", "lens"), dict.fromkeys(ENCODERS, "needs a decoder") | dict.fromkeys(BOTH, ELSEWHERE))
    | {  # which show what a class of a text depends on
        page: dict.fromkeys({*ENCODERS} - {"feelings"}, "needs a decoder")
        | dict.fromkeys({*BOTH} - {"agreement"}, ELSEWHERE)
        | {
            "answers": "whether an answer starts or ends there",
            "headless": "without a head",
            "names": "it gives each token a class",
        }
        for page in ("interventions", "patches")
    }
)
for page in EVERY_HEAD:
    INSTEAD[page] = INSTEAD.get(page, {}) | HYBRIDS
# Parts that show stories whatever is chosen, or do the same with every family: one is enough.
ALIKE = ("embeddings", "skip", "neurons", "heads compared", "merges", "share", "parameters", "norms", "dropout")
HEADLESS = ("heads", "heads cut", "masks", "your model", "text in bits", "generation")  # where it makes a difference


@pytest.mark.parametrize("family", often([*own_folders.FAMILIES, *own_folders.HYBRIDS], ["feelings"]))
def test_every_page_shows_it_or_says_why_not(allowed, family):
    if family in own_folders.HYBRIDS:
        own_folders.write(allowed, family)
    assert not brought(f"./{family}").model.halved
    shown_or_said_why_not(family)


@nightly
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma3", "qwen3 mixture", "gpt-oss", "feelings", "bert", "t5"])
def test_so_does_one_whose_matrices_are_in_16_bits(allowed, family, monkeypatch):
    monkeypatch.setattr(checkpoints, "HALF_FROM", 0)
    assert brought(f"./{family}").model.halved
    shown_or_said_why_not(family)


def shown_or_said_why_not(family):
    """Open every page with the model of a family, which is loaded."""
    name = f"./{family}"
    for page, (file, address) in PAGES.items():
        if (page in ALIKE and family != "gpt2") or (family == "headless" and page not in HEADLESS):
            continue
        key = "of" if page in ("activations", "position table") else "model"
        test = opened(file, **{**address, key: name})
        words = said(test, "info", "caption", "markdown")
        assert "is not loaded" not in words, page
        if (reason := INSTEAD.get(page, {}).get(family)) is not None:
            assert f"{name}: " in words, page
            assert reason in words, page
            assert "Shown instead" in words, page
        else:
            assert "Shown instead" not in words, page
        assert "Corrected from the link" not in words, page


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("foundations/heads/page.py", {}),
        ("inference/generation/page.py", {}),
        ("training/information/page.py", {"show": "text"}),
        ("start/walkthrough/page.py", {}),
        ("model/your_model/page.py", {}),
        ("foundations/tokens/page.py", {}),
    ],
)
def test_a_tokenizer_that_fails_at_a_text_is_a_sentence_there(allowed, file, address, monkeypatch):
    own = brought("./gpt2")

    def fails(*_):
        raise ValueError("it takes more than 5 s of computing in /srv/x, and was stopped")

    monkeypatch.setattr(own.tokenizer._worker, "ask", fails)
    test = opened(file, **address, model="./gpt2")  # fails on an exception
    assert "./gpt2: the model's tokenizer fails at this text: it takes more than 5 s of computing in x" in said(
        test, "warning"
    )


def test_one_that_lies_in_wait_is_a_sentence_and_the_next_text_is_read(allowed):
    shutil.copytree(allowed / "gpt2", allowed / "waits")
    said_there = json.loads((allowed / "waits" / "tokenizer.json").read_text())
    (allowed / "waits" / "tokenizer.json").write_text(
        json.dumps(said_there | {"normalizer": normalizers(*[replace("Ж", "Ж" * 10)] * 10)})
    )
    brought("./waits")
    test = opened("foundations/heads/page.py", model="./waits", text="a Ж")
    assert "asks for more memory than a tokenizer may have" in said(test, "warning")
    test = opened("foundations/heads/page.py", model="./waits", text="a dog")
    assert not test.warning


def test_heads_pools_512_tokens_says_so_and_shows_a_range_of_them_in_full(allowed):
    kind, settings, tokenizer = own_folders.FAMILIES["gpt2"]
    own_folders.written(kind, settings | {"n_positions": 512}, allowed / "long")
    tokenizer().save(str(allowed / "long" / "tokenizer.json"))
    brought("./long")
    address = {"model": "./long", "text": "zap! " * 400, "layer": "1", "head": "2"}
    whole, part = (opened("foundations/heads/page.py", **address, **more) for more in ({}, {"range": "256 to 383"}))
    for test in (whole, part):
        assert "the last 512 are used here" in said(test, "caption")
        assert "shows the largest of the weights" in figures(test)["mosaic"][0]["caption"]
    pooled, cells = (figures(test)["closer"][1]["data"][0]["z"]["shape"] for test in (whole, part))
    assert max(map(int, pooled.split(","))) <= 128
    assert cells == "128, 128"


ALONE, CONTINUED = "model/architectures/page.py", {"job": "continue the text"}  # a part that shows stories alone


def test_parts_that_show_one_model_alone_say_so_to_who_brought_another(allowed):
    brought("./gpt2")
    test = opened("model/your_model/page.py", model="./gpt2")
    test.switch_page(ALONE)
    test.query_params["job"] = CONTINUED["job"]
    assert "This part shows stories and not ./gpt2" in said(run(test), "caption")  # which the address still names
    del test.query_params["model"]
    assert "This part shows stories and not your own model" in said(run(test), "caption")
    assert "your own model" not in said(opened(ALONE, **CONTINUED), "caption")


@pytest.mark.parametrize(
    ("model", "words"),
    [("./gpt2", "and not ./gpt2:"), ("induction", "and not induction:"), ("stories", None), ("no such", None)],
)
def test_so_does_a_link_that_names_another(allowed, model, words):
    captions = said(opened(ALONE, **CONTINUED, model=model), "caption")
    assert words in captions if words else "This part shows" not in captions


def test_a_link_with_a_model_of_ours_that_does_not_fit_says_why():
    words = said(opened("inside/stream/page.py", model="fill"), "caption")
    assert "fill does not fit here: this is an encoder, and what is shown here needs a decoder" in words
    assert "Shown instead: stories" in words
    assert "Corrected from the link" not in words
    assert "does not fit" not in said(opened("inside/stream/page.py", model="induction"), "caption")


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("inference/long_context/page.py", {"look": "Flash attention"}),
        ("inference/long_context/page.py", {"look": "Ring attention"}),
        ("inference/long_context/page.py", {"look": "Sparse patterns"}),
        ("model/architectures/page.py", {"job": "translate"}),
        ("model/architectures/page.py", {"job": "fill the blank"}),
        ("model/architectures/page.py", {"job": "continue the text"}),
    ],
)
def test_so_do_long_texts_and_the_jobs_of_the_three_kinds(file, address):
    test = opened(file, **address)
    assert "your own model" not in said(test, "caption")
    test.session_state[session.KEY].own_models.append("./gpt2")
    assert "and not your own model" in said(run(test), "caption")


@pytest.mark.parametrize("part", ["Cache size", "Does it fit?"])
def test_the_cache_of_a_decoder_of_ones_own_is_counted_and_no_other_models(allowed, part):
    brought("./gpt2")
    test = opened("inference/kv_cache/page.py", part=part, of="./gpt2")
    assert any("./gpt2" in head["alt"] for head, _ in figures(test).values())
    assert "./gpt2" not in opened("inference/kv_cache/page.py", part=part).selectbox(key="of").options
    brought("./bert")
    other = opened("inference/kv_cache/page.py", part=part, of="./bert")
    assert "what is shown here needs a decoder" in said(other, "info")


def test_a_link_with_a_model_that_is_not_loaded_offers_to_load_it(allowed):
    test = opened("foundations/heads/page.py", model="./gpt2")
    assert "./gpt2 is not loaded on this server now" in said(test, "markdown").replace("*", "")
    assert test.selectbox(key="model").value == "./gpt2"
    test.button(key="load model:button").click()
    wait_for(test, "./gpt2", lambda t: any(s.value.startswith("Layer ") for s in t.subheader))
    assert test.selectbox(key="model").value == "./gpt2"
    assert own_models.STORE.get("./gpt2") is not None


def test_what_is_loaded_is_not_forced_on_others_and_needs_no_loading_for_who_asks(allowed):
    brought("./gpt2")
    assert "./gpt2" not in opened("foundations/heads/page.py").selectbox(key="model").options
    assert "load model" not in keys(opened("foundations/heads/page.py", model="./gpt2"))


def test_a_model_that_made_room_is_offered_again(allowed):
    brought("./gpt2")
    test = opened("foundations/masks/page.py", model="./gpt2")
    for name in ("./bert", "./llama"):
        brought(name)
    assert "is not loaded on this server" in said(run(test), "markdown")
    assert "load model" in keys(test)


def test_where_it_is_not_allowed_the_page_says_so(allowed, monkeypatch):
    monkeypatch.setenv("TFCORE_MODELS", "off")
    brought_by_somebody = own_models.Own("./gpt2", None, None, 1, 0.0, "")
    own_models.STORE.put(brought_by_somebody)
    test = opened("foundations/heads/page.py", model="./gpt2")
    assert test.selectbox(key="model").value == "stories"
    assert "has not allowed to load others" in said(test, "caption")


@nightly
def test_of_layers_with_experts_between_others_each_can_be_chosen(allowed):
    brought("./qwen2 mixture")
    for layer in ("1", "3"):
        test = opened("experts/routing/page.py", model="./qwen2 mixture", layer=layer)
        assert str(test.selectbox(key="layer").value) == layer
    test = opened("experts/routing/page.py", model="./qwen2 mixture", layer="2")
    assert "Corrected from the link" in said(test, "info", "caption", "markdown")
