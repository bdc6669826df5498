"""The real models against transformers: SmolLM2 from its GGUF file, the others from safetensors."""

import json
import re
from functools import cache

import gguf
import pytest
import torch
import transformers as hf

import tfcore
from tests.nightly import nightly, often
from tests.real import real
from tfcore.loading.real_models import CARDS, MODELS, sha256
from tfcore.loading.special_tokens import special_tokens
from tfcore.pictures import prepared
from tfcore.sounds import log_mel
from tfcore.tokenizers.chat import Message, conversation
from tfcore.tokenizers.typed_text import marked
from tfcore.training.real_models import of_minilm, of_smollm2
from tfcore.views.foundations.pictures.measure import drawn_picture
from tfcore.views.foundations.sound.measure import hear, recording

MARY = "When Mary and John went to the store, John gave a drink to"
TIRED = "The animal didn't cross the street because it was too tired."
MINILM = "53aa51172d142c89"  # the beginning of the SHA-256 of their weights
SMOLLM2 = "b179c9523d0e6a0f"


@pytest.fixture(autouse=True)
def _real(real_models):
    return real_models


@pytest.fixture
def _read_once(monkeypatch):
    """transformers reads all 100,000 strings of a file for its config, its weights and its tokenizer anew, and builds
    the same table of names for each module: half of the time."""
    monkeypatch.setattr(gguf, "GGUFReader", cache(gguf.GGUFReader))
    monkeypatch.setattr(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map))


@pytest.mark.usefixtures("_read_once")
@nightly
def test_smollm2(real_models):
    folder, file = real_models / "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
    model, tokenizer = real("smollm2")
    theirs = hf.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    names = hf.AutoTokenizer.from_pretrained(folder, gguf_file=file)
    assert (model.config.n_layers, model.config.attention.n_heads, model.config.attention.kv_heads) == (30, 9, 3)
    ids = tokenizer.encode(MARY)
    assert ids == names(MARY).input_ids
    with torch.no_grad():
        expected = theirs(torch.tensor([ids]), output_attentions=True)
    found = model(torch.tensor([ids]), capture=("blocks.*.attn.pattern",))
    # 30 layers of float32, added up in another order, which depends on the machine. A weight that was read wrongly
    # changes logits, which are up to 25, by more than 0.1.
    assert (found.logits - expected.logits).abs().max() < 5e-5 * expected.logits.abs().max()
    for layer, pattern in enumerate(expected.attentions):
        assert (found.activations[f"blocks.{layer}.attn.pattern"] - pattern).abs().max() < 1e-4
    likeliest = found.logits[0, -1].softmax(-1)
    assert tokenizer.tokens([int(likeliest.argmax())]) == [" Mary"]
    assert float(likeliest.max()) == pytest.approx(0.92, abs=0.01)

    special = special_tokens("smollm2", tokenizer)
    said = [{"role": "user", "content": "Why is the sky blue?"}]
    ids = names.apply_chat_template(said, tokenize=True, add_generation_prompt=True, return_dict=False)
    talk = conversation(tokenizer, special.template, [Message("user", "Why is the sky blue?")])
    assert [token.id for token in talk] == ids
    assert special.ends == (0, 2)

    turn = "<|im_start|>user\nHello<|im_end|>"
    assert tokenizer.encode(marked(turn, ("<|im_start|>", "<|im_end|>"))) == names(turn).input_ids
    assert tokenizer.encode(turn) == names(turn, split_special_tokens=True).input_ids


def test_minilm(real_models):
    model, tokenizer = tfcore.load("minilm", device="cpu")
    theirs = hf.AutoModel.from_pretrained(real_models / "minilm", attn_implementation="eager").eval()
    ids = tokenizer.encode(TIRED)
    with torch.no_grad():
        expected = theirs(torch.tensor([ids]), output_attentions=True)
    found = model(torch.tensor([ids]), capture=("blocks.*.attn.pattern",))
    assert (found.hidden - expected.last_hidden_state).abs().max() < 1e-4
    for layer, pattern in enumerate(expected.attentions):
        assert (found.activations[f"blocks.{layer}.attn.pattern"] - pattern).abs().max() < 1e-5
    assert tokenizer.tokens(ids)[0] == "[CLS]"


def test_dinov2(real_models):
    model, tokenizer = tfcore.load("dinov2", device="cpu")
    theirs = hf.AutoModel.from_pretrained(real_models / "dinov2", attn_implementation="eager").eval()
    pixels = prepared(drawn_picture("balls", 224), model.config.patches)
    with torch.no_grad():
        expected = theirs(pixels, output_attentions=True)
    found = model(pixels, capture=("blocks.*.attn.pattern",))
    assert tokenizer is None
    assert (found.hidden - expected.last_hidden_state).abs().max() < 1e-3
    for layer, pattern in enumerate(expected.attentions):
        assert (found.activations[f"blocks.{layer}.attn.pattern"] - pattern).abs().max() < 1e-4


@nightly
def test_whisper(real_models):
    model, tokenizer = tfcore.load("whisper", device="cpu")
    theirs = hf.WhisperForConditionalGeneration.from_pretrained(
        real_models / "whisper", attn_implementation="eager", dtype=torch.float32
    ).eval()
    samples = recording("speech")
    extractor = hf.WhisperFeatureExtractor.from_pretrained(real_models / "whisper")
    spectrogram = extractor(samples, sampling_rate=16_000, return_tensors="pt")["input_features"]
    ours = log_mel(torch.from_numpy(samples)[None], model.config.sound)
    assert (ours - spectrogram).abs().max() < 1e-4
    heard = hear(model, tokenizer, samples)
    assert heard.text == "Ask not what your country can do for you. Ask what you can do for your country."
    prompt = torch.tensor([[50_257, 50_362]])
    ids = hf.GenerationMixin.generate(theirs, spectrogram, decoder_input_ids=prompt, do_sample=False, max_new_tokens=40)
    assert tokenizer.decode(ids[0, 2:-1].tolist()).strip() == heard.text
    with torch.no_grad():
        expected = theirs(spectrogram, decoder_input_ids=ids[:, :-1], output_attentions=True).cross_attentions
    for layer, pattern in enumerate(expected):
        shown = torch.from_numpy(heard.cross[layer])
        assert (shown - pattern[0, :, 1:, : shown.shape[-1]]).abs().max() < 1e-4


def test_they_stand_beside_the_models_that_ship():
    assert tfcore.available()[-2:] == ["smollm2", "minilm"]
    assert tfcore.available("encoder")[-1] == "minilm"
    assert "smollm2" not in tfcore.available("encoder")


def test_the_files_are_those_that_were_measured(real_models):
    """What is unpacked: a wheel is checked when it is fetched."""
    assert {model.name for model in MODELS} == {"smollm2", "minilm", "dinov2", "whisper"}
    assert sha256(real_models / "minilm/model.safetensors").startswith(MINILM)
    assert sha256(real_models / "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf").startswith(SMOLLM2)


@pytest.mark.parametrize("name", often(["smollm2", "minilm"], ["minilm"]))
def test_what_the_cards_say_is_measured_again(name):
    """What needs no corpus."""
    block = re.search(r"```json\n(.*?)```", (CARDS / f"{name}.md").read_text("utf-8"), re.DOTALL)
    said = json.loads(block[1])
    found = of_minilm() if name == "minilm" else of_smollm2(None)
    assert len(found) >= 2
    assert found == pytest.approx({key: said[key] for key in found}, abs=2e-3)
