"""Models of `transformers` that are in memory become ours as their folders would, and nothing of them is changed."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as hf

from tests.nightly import nightly
from tests.other_device import needs_the_cpu
from tests.parity.checkpoints import BOTH, COMPOSITES, DECODERS, ENCODERS, GROUPED, written
from tests.parity.comparing import TOLERANCE, scores
from tests.small import difference, ids
from tests.tokenizers.test_foreign_tokenizers import byte_level
from tfcore import from_transformers, load, views
from tfcore.files import CheckpointError

pytestmark = needs_the_cpu  # transformers itself does not run on a device that pretends
CASES: dict[str, tuple[Any, Any]] = DECODERS | COMPOSITES | ENCODERS | BOTH
EACH_RUN = ("llama", "gpt2", "bert", "t5 1.0", "t5 1.1", "qwen3", "mixtral")
TEXT = "Once upon a time there was a little dog."


def fingerprint(theirs):
    """All of a model that somebody could have changed."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_state_dict_hooks")
    modules = [
        (name, one.training, *(len(getattr(one, kind)) for kind in kinds)) for name, one in theirs.named_modules()
    ]
    weights = [
        (name, id(one), one.data_ptr(), one.dtype, one.requires_grad, one.grad, one._version)
        for name, one in theirs.named_parameters()
    ]
    return modules, weights, theirs.config.to_json_string()


def answer(ours, theirs, tokens):
    """The logits of both, or their last states."""
    both = ours.config.architecture == "encoder-decoder"
    with torch.no_grad():
        expected = theirs(tokens, **({"decoder_input_ids": tokens[:, :5]} if both else {}))
        output = ours(tokens, decoder_ids=tokens[:, :5] if both else None)
    has_head = "logits" in expected or "prediction_logits" in expected
    return (output.logits if has_head else output.hidden), scores(expected)


@pytest.mark.parametrize("name", [name if name in EACH_RUN else pytest.param(name, marks=nightly) for name in CASES])
def test_it_is_what_its_folder_holds(tmp_path, name):
    theirs = written(*CASES[name], tmp_path)
    theirs.requires_grad_(True)
    calls: list[object] = []
    theirs.get_input_embeddings().register_forward_hook(lambda *_: calls.append(1))
    before = fingerprint(theirs.train())
    ours, tokenizer = from_transformers(theirs)
    assert fingerprint(theirs) == before
    assert (tokenizer, calls) == (None, [])
    from_folder, _ = load(tmp_path, device="cpu")
    assert ours.config == from_folder.config
    assert not ours.training
    assert not any(one.requires_grad for one in ours.parameters())
    state = ours.state_dict()
    for key, expected in from_folder.state_dict().items():
        assert torch.equal(state[key], expected), key
    assert difference(*answer(ours, theirs.eval(), ids(2, 13))) < TOLERANCE


def shared(ours, theirs):
    """Names of our tensors that lie where one of theirs does."""
    places = {one.data_ptr() for one in theirs.state_dict().values()}
    return {name for name, one in ours.state_dict().items() if one.data_ptr() in places}


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("llama", ("qkv", "up")),
        ("gpt2", ()),
        ("bert", ("qkv",)),
        ("mixtral", ("qkv",)),
        ("t5 1.1", ("qkv", "kv", "up")),
    ],
)
def test_weights_are_shared_where_they_lie_alike(tmp_path, name, copied):
    """W_Q, W_K and W_V are one matrix here; GPT-2's is turned, and the fused experts of a Mixtral lie alike."""
    theirs = written(*CASES[name], tmp_path)
    ours, _ = from_transformers(theirs)
    made = {key for key in ours.state_dict() if key not in shared(ours, theirs)}
    assert {key.split(".")[-2] for key in made} <= {*copied}, made
    embedding, version = theirs.get_input_embeddings().weight, ours.embed.stored._version
    with torch.no_grad():
        embedding[0] = 7
    assert ours.embed.stored._version > version, "a widget knows that it is to be drawn anew"
    assert (ours.embed.weight[0] == 7).all(), "what is trained on is seen"


def test_matrices_in_16_bits_stay_so_and_are_computed_in_32(tmp_path):
    theirs = written(*CASES["llama"], tmp_path).to(torch.bfloat16)
    ours, _ = from_transformers(theirs)
    assert "decoder.blocks.0.attn.out.weight" in shared(ours, theirs)
    assert ours.state_dict()["decoder.blocks.0.attn.qkv.weight"].dtype == torch.bfloat16
    assert {one.dtype for one in theirs.parameters()} == {torch.bfloat16}
    mine, expected = answer(ours, theirs.float(), ids(2, 13))
    assert mine.dtype == torch.float32
    assert difference(mine, expected) < 10 * TOLERANCE  # theirs has angles of RoPE that were rounded to 16 bits


def test_its_tokenizer_comes_with_it_and_a_view_shows_both():
    inner = byte_level("<s> $A", ("<s>", "</s>"))
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    tokenizer(["a", TEXT], padding=True, truncation=True, max_length=9)  # leaves settings behind
    settings = GROUPED | {"vocab_size": len(tokenizer)}
    theirs = hf.LlamaForCausalLM(hf.LlamaConfig(**settings))
    model, own = from_transformers(theirs, tokenizer)
    assert own.encode(TEXT) == tokenizer(TEXT)["input_ids"]
    assert len(own.encode(TEXT)) > 9
    assert {"<s>", "</s>"} <= own.special_tokens.keys()
    shown = views.heads.portrait(model, own, TEXT, layer=1, head=2)
    assert "Head 1.2." in str(shown)
    with pytest.raises(CheckpointError, match=r"TokenizersBackend has \d+ tokens, more than the vocab_size=40"):
        from_transformers(hf.LlamaForCausalLM(hf.LlamaConfig(**settings | {"vocab_size": 40})), tokenizer)


def test_a_model_made_in_inference_mode_is_copied():
    with torch.inference_mode():
        theirs = hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)).eval()
    ours, _ = from_transformers(theirs)
    assert shared(ours, theirs) == set()
    assert difference(*answer(ours, theirs, ids(1, 9))) < TOLERANCE


def test_a_compiled_model_is_the_one_inside(tmp_path):
    theirs = written(*CASES["llama"], tmp_path)
    ours, _ = from_transformers(SimpleNamespace(_orig_mod=theirs))  # as torch.compile has it, which takes seconds
    assert difference(*answer(ours, theirs, ids(1, 9))) < TOLERANCE


def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path):
    mamba = hf.MambaForCausalLM(hf.MambaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1))
    mamba.save_pretrained(tmp_path / "mamba")
    with pytest.raises(CheckpointError) as of_folder:
        load(tmp_path / "mamba")
    with pytest.raises(CheckpointError) as of_memory:
        from_transformers(mamba)
    reason = str(of_folder.value).partition("config.json: ")[2]
    assert reason.startswith("model_type='mamba' is not supported")
    assert str(of_memory.value) == f"the MambaForCausalLM in memory: {reason}"
    with pytest.raises(CheckpointError, match="a Linear is no model of transformers"):
        from_transformers(torch.nn.Linear(1, 1))
    theirs = written(*CASES["llama"], tmp_path)
    slow = type("SlowTokenizer", (), {"is_fast": False})()
    with pytest.raises(CheckpointError, match="the tokenizer SlowTokenizer is a slow one"):
        from_transformers(theirs, slow)
    theirs.lm_head.to("meta")
    with pytest.raises(CheckpointError, match="has weights that are not in memory; load it without offloading them"):
        from_transformers(theirs)
    broken = written(*CASES["llama"], tmp_path)
    broken.model.norm.weight.data[0] = torch.nan
    with pytest.raises(CheckpointError, match=r"the LlamaForCausalLM in memory: norm\.weight holds numbers that"):
        from_transformers(broken)
    whole = torch.ones(24, dtype=torch.int8)
    broken.model.norm.weight = torch.nn.Parameter(whole, requires_grad=False)
    with pytest.raises(CheckpointError, match=r"norm\.weight is torch\.int8, not one of torch\.float16"):
        from_transformers(broken)
