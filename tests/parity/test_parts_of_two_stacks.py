"""Parts of models of two stacks, ablated one by one, against `transformers` with the same parts switched off in its own
modules."""

import numpy as np
import pytest
import torch
import transformers as hf

from tests.parity.checkpoints import BART, written
from tests.parity.test_classifiers import STARTED, THREE, tokens_of
from tfcore import load
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import flat_parts, parts_of
from tfcore.measures.knock_outs import all_effects, knock_out_each

CASES = {
    "bart": (hf.BartForSequenceClassification, BART | THREE | {"encoder_layers": 1}),
    "mbart": (hf.MBartForSequenceClassification, BART | THREE),
    "t5": (hf.T5ForSequenceClassification, STARTED | THREE | {"num_decoder_layers": 3}),
}
OF_BART = {"encoder": "self_attn", "decoder": "self_attn", "cross": "encoder_attn"}
OF_T5 = {"encoder": "0.SelfAttention", "decoder": "0.SelfAttention", "cross": "1.EncDecAttention"}


def written_by(theirs, part):
    """The module whose input is what the heads of a part write, or the one whose output is that of a feed-forward
    layer."""
    stack = theirs.get_submodule("transformer" if hasattr(theirs, "transformer") else "model")
    stack = stack.encoder if part.stack == "encoder" else stack.decoder
    if hasattr(stack, "block"):
        layers = stack.block[part.layer].layer
        return layers.get_submodule(f"{OF_T5[part.stack]}.o") if part.is_head else layers[-1].DenseReluDense
    layer = stack.layers[part.layer]
    return layer.get_submodule(f"{OF_BART[part.stack]}.out_proj") if part.is_head else layer.fc2


def switched_off(theirs, part, tokens, heads):
    """The scores of the classes with one part that writes nothing."""
    module = written_by(theirs, part)

    def without_head(_, inputs):
        (z,) = inputs
        z = z.unflatten(-1, (heads, -1)).clone()
        z[:, :, part.head] = 0
        return (z.flatten(-2),)

    if part.is_head:
        handle = module.register_forward_pre_hook(without_head)
    else:
        handle = module.register_forward_hook(lambda *given: torch.zeros_like(given[-1]))
    with torch.no_grad():
        scores = theirs(tokens).logits[0].double()
    handle.remove()
    return scores


@pytest.mark.usefixtures("unchecked")  # so many runs
@pytest.mark.parametrize("family", CASES)
def test_each_part_alone_has_the_effect_that_it_has_there(tmp_path, family):
    theirs = written(*CASES[family], tmp_path).eval()
    model, _ = load(tmp_path)
    tokens, quantity = tokens_of(model)[:1], Quantity("difference", 2, 0)
    tokens = tokens.clone()
    with torch.no_grad():
        whole = theirs(tokens).logits[0].double()
    every = parts_of(model.config)
    found = all_effects(list(knock_out_each(model, tokens[0].tolist(), quantity, "zero")), len(every))
    for row, parts in enumerate(every):
        for column, part in enumerate(parts):
            if part is not None:
                off = switched_off(theirs, part, tokens, model.config.attention.n_heads)
                fall = float((whole[2] - whole[0]) - (off[2] - off[0]))
                assert found[row, column] == pytest.approx(fall, abs=1e-5), part
    assert {part.stack for part in flat_parts(every)} == {"encoder", "decoder", "cross"}
    assert np.nanmin(np.nanmax(np.abs(found), axis=1)) > 1e-4, "each row does something"
