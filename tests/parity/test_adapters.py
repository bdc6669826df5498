"""LoRA adapters that `peft` writes, added to their base by tfcore.load, give the scores of peft's own merged model."""

import pytest
import torch
import transformers as hf
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

from tests.nightly import often_named
from tests.parity.checkpoints import BOTH, COMPOSITES, DECODERS, ENCODERS, GPT2, GROUPED, ROBERTA, SHAPE, written
from tests.parity.comparing import TOLERANCE, scores
from tests.small import difference, ids
from tfcore import load

# peft's, of what it sets right itself, and of functions of transformers that it calls
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")
HEADED = {"task_type": "SEQ_CLS", "target_modules": ["query", "value"]}
CONV = ["c_attn", "c_proj", "c_fc"]
OWN_SCALES = {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {r"^model.layers.1.*\.v_proj": 3, "q_proj": 32}}
CASES = {
    "llama": (hf.LlamaForCausalLM, GROUPED, {"target_modules": "all-linear"}),
    "llama, own ranks and scales": (
        hf.LlamaForCausalLM,
        GROUPED,
        {"target_modules": ["q_proj", "v_proj"], "use_rslora": True, "modules_to_save": ["down_proj"], **OWN_SCALES},
    ),
    "llama, table and head": (hf.LlamaForCausalLM, GROUPED, {"target_modules": ["embed_tokens", "lm_head"]}),
    "llama, some layers": (hf.LlamaForCausalLM, GROUPED, {"target_modules": ["o_proj"], "layers_to_transform": [1]}),
    "gpt2": (hf.GPT2LMHeadModel, GPT2, {"target_modules": CONV, "fan_in_fan_out": True}),
    "gpt2, flag forgotten": (hf.GPT2LMHeadModel, GPT2, {"target_modules": CONV}),
    "bert, texts": (hf.BertForSequenceClassification, SHAPE | {"num_labels": 3}, HEADED),
    "roberta, texts": (hf.RobertaForSequenceClassification, ROBERTA | {"num_labels": 3}, HEADED),
}
EVERY = {
    name: (kind, settings, {"target_modules": "all-linear"})
    for name, (kind, settings) in (DECODERS | ENCODERS | BOTH).items()
    if "," not in name and name != "nomicbert"  # peft sees q, k and v, which the file has in one
}
OF_TEXTS = r".*(language_model|text_model|model\.layers).*\.(q_proj|v_proj|down_proj)"  # and not of pictures or sound
EVERY |= {
    name: (kind, settings, {"target_modules": OF_TEXTS})
    for name, (kind, settings) in COMPOSITES.items()
    if "moe" not in name  # whose experts stand in one tensor
}
for name in ("mamba2", "falcon-h1", "nemotron-h"):  # whose output matrix peft adapts in no state
    EVERY[name][2]["exclude_modules"] = r".*\.out_proj"


def adapted(kind, base, folder, settings):
    """An adapter of random numbers on a base, written into a folder, and the model that peft merges of both."""
    wanted = LoraConfig(r=3, lora_alpha=8, **settings)
    adapter = get_peft_model(kind.from_pretrained(base), wanted)
    if wanted.target_parameters:  # experts, which peft calls linear layers and we refuse
        attention = sorted(name for name in wanted.target_modules if "attn" in name or "proj" in name)
        adapter = get_peft_model(kind.from_pretrained(base), LoraConfig(r=3, lora_alpha=8, target_modules=attention))
    for name, parameter in adapter.named_parameters():
        if any(part in name for part in ("lora_", "modules_to_save")):
            nn.init.normal_(parameter, std=0.2, generator=torch.Generator().manual_seed(1))
    adapter.save_pretrained(folder)
    return PeftModel.from_pretrained(kind.from_pretrained(base), folder).merge_and_unload().eval()


@pytest.mark.parametrize("case", often_named(CASES | {f"all, {k}": c for k, c in EVERY.items()}, *CASES))
def test_adapters_score_alike(tmp_path, case):
    kind, settings, adapter = case
    base, folder = tmp_path / "base", tmp_path / "adapter"
    plain = written(kind, settings, base)
    merged = adapted(kind, base, folder, adapter)
    ours, _ = load(folder, device="cpu")
    tokens = ids(1, 9)
    more = {"decoder_input_ids": tokens[:, :4]} if ours.config.architecture == "encoder-decoder" else {}
    output = ours(tokens, decoder_ids=more.get("decoder_input_ids"))
    found = output.hidden if output.logits is None else output.logits
    place = None if ours.config.classes is None else ours.config.classes.place
    found = found[:, 0] if place == "first" else found
    expected, before = (scores(model(input_ids=tokens, **more)) for model in (merged, plain))
    assert difference(found, expected) < TOLERANCE
    assert difference(before, expected) > 10 * TOLERANCE


@pytest.mark.parametrize(
    ("base_kind", "kind", "settings"),
    [
        (hf.RobertaForMaskedLM, hf.RobertaForSequenceClassification, ROBERTA),
        (hf.LlamaForCausalLM, hf.LlamaForSequenceClassification, GROUPED | {"tie_word_embeddings": True}),
    ],
)
def test_a_head_that_the_adapter_brings_takes_the_place_of_the_bases(tmp_path, base_kind, kind, settings):
    written(base_kind, settings, tmp_path / "base")
    base = kind.from_pretrained(tmp_path / "base", num_labels=4, pad_token_id=1)
    adapter = get_peft_model(base, LoraConfig(r=3, task_type="SEQ_CLS", target_modules="all-linear"))
    for name, parameter in adapter.named_parameters():
        if any(part in name for part in ("lora_B", "modules_to_save")):
            nn.init.normal_(parameter, std=0.2)
    adapter.save_pretrained(tmp_path / "adapter")
    ours, _ = load(tmp_path / "adapter", device="cpu")
    tokens = ids(1, 9) % 50 + 3
    assert ours.config.classes.labels == tuple(f"LABEL_{i}" for i in range(4))
    at = 0 if ours.config.classes.place == "first" else -1
    assert difference(ours(tokens).logits[:, at], adapter.merge_and_unload().eval()(tokens).logits) < TOLERANCE
