"""One tensor under several names: of whichever a file has, `transformers` and tfcore make the same model."""

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from tests.parity.checkpoints import BOTH, DECODERS, ENCODERS, written
from tests.parity.comparing import TOLERANCE, scores
from tests.small import difference, ids
from tfcore import CheckpointError, load
from tfcore.loading.families import FAMILIES

# A model of each family whose head is its table, and that has all other rows.
TIED = {
    "gpt2": DECODERS["gpt2"],
    "opt": DECODERS["opt"],
    "bloom": DECODERS["bloom"],
    "llama": DECODERS["llama, tied"],
    "mixtral": DECODERS["mixtral, one expert, window"],
    "qwen2_moe": DECODERS["qwen2 mixture, tied"],
    "gpt_neox": DECODERS["pythia, tied"],
    "mamba2": DECODERS["mamba2, biases, tied, one group"],
    "bert": ENCODERS["bert"],
    "distilbert": ENCODERS["distilbert"],
    "roberta": ENCODERS["roberta"],
    "electra": ENCODERS["electra, narrow"],
    "albert": ENCODERS["albert"],
    "nomic_bert": ENCODERS["nomicbert"],
    "modernbert": ENCODERS["modernbert"],
    "t5": BOTH["t5 1.0"],
    "bart": BOTH["bart"],
    "marian": BOTH["marian"],
}
# All rows that accept several names of one tensor: their full names, and the first family that has the row.
ROWS = {}
for family, table in FAMILIES.items():
    for row, sources in table.rows.items():
        if (
            len(sources) > 1
            and "*" not in row
            and not row.startswith("classes.")  # of two kinds of model, one name each
            and not (family.startswith("deberta") and row.startswith("mlm."))  # of two kinds of head
        ):
            names = tuple(n if n.endswith(".bias") else f"{n}.weight" for source in sources for n in source.names)
            ROWS.setdefault(names, family)
CASES = [(family, names, name) for names, family in ROWS.items() for name in names]
SEVERAL = {  # rows that also accept other numbers of tensors, and one that the model does not use
    "mixtral": ("model.layers.1.mlp.experts.down_proj", (4, 24, 40)),
    "t5": ("decoder.block.1.layer.2.DenseReluDense.wi_0.weight", (40, 24)),
}
DIFFER = r"holds .* and .*, which differ, and a model has one of them$"


def written_under(folder, family, names, name):
    """A tied model, and its folder with the row's tensor under that name alone."""
    theirs = written(*TIED[family], folder)
    tensors = load_file(folder / "model.safetensors")
    there = [n for n in tensors if FAMILIES[family].canonical(n) in names]
    moved = next(tensors.pop(n) for n in there)
    put(folder, tensors | {in_full(theirs, name): moved})
    return theirs


def in_full(theirs, name):
    """The name with what `transformers` puts before it."""
    family = FAMILIES[theirs.config.model_type]
    return next(n for n in theirs.state_dict() if family.canonical(n) == name)


def put(folder, tensors):
    save_file(
        {name: tensor.clone() for name, tensor in tensors.items()}, folder / "model.safetensors", {"format": "pt"}
    )


def beside(folder, theirs, name, other, changed):
    """Put a second copy, or a tensor that differs, under another name of the row."""
    tensors = load_file(folder / "model.safetensors")
    first = tensors[in_full(theirs, name)]
    put(folder, tensors | {in_full(theirs, other): torch.randn_like(first) if changed else first})


def answers(model):
    tokens = ids(1, 9)
    with torch.no_grad():
        if isinstance(model, hf.PreTrainedModel):
            more = {"decoder_input_ids": tokens[:, :4]} if model.config.is_encoder_decoder else {}
            return scores(model(input_ids=tokens, **more))
        more = {"decoder_ids": tokens[:, :4]} if model.config.architecture == "encoder-decoder" else {}
        return model(tokens, **more).logits


@pytest.mark.parametrize(("family", "names", "name"), CASES)
def test_a_tensor_is_the_same_under_each_of_its_names(family, names, name, tmp_path):
    theirs = written_under(tmp_path, family, names, name)
    expected = answers(theirs)
    assert difference(answers(load(tmp_path, device="cpu")[0]), expected) < TOLERANCE
    for other in set(names) - {name}:
        beside(tmp_path, theirs, name, other, changed=False)
    assert difference(answers(load(tmp_path, device="cpu")[0]), expected) < TOLERANCE


@pytest.mark.parametrize(("family", "names", "name"), CASES)
def test_another_tensor_under_another_name_is_a_head_or_refused(family, names, name, tmp_path):
    for other in set(names) - {name}:
        theirs = written_under(tmp_path, family, names, name)
        beside(tmp_path, theirs, name, other, changed=True)
        if FAMILIES[family].head in (name, other) or name.endswith("bias"):
            theirs = type(theirs).from_pretrained(tmp_path, attn_implementation="eager").eval()
            assert difference(answers(load(tmp_path, device="cpu")[0]), answers(theirs)) < TOLERANCE
        else:
            with pytest.raises(CheckpointError, match=DIFFER):
                load(tmp_path, device="cpu")


@pytest.mark.parametrize("family", SEVERAL)
def test_tensors_in_both_forms_are_refused(family, tmp_path):
    written(*TIED[family], tmp_path)
    name, shape = SEVERAL[family]
    put(tmp_path, load_file(tmp_path / "model.safetensors") | {name: torch.randn(shape)})
    with pytest.raises(CheckpointError, match=DIFFER):
        load(tmp_path, device="cpu")
