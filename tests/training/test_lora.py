"""LoRA begins as the model, trains what its formula says, and merges into plain matrices."""

import pytest
import torch
import torch.nn.functional as F
from peft import LoraConfig, inject_adapter_in_model
from torch import nn
from torch.nn.utils import parametrize

import tfcore
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.training.finetuning import choose_weights_
from tfcore.training.finetuning_runs import FineTuneConfig
from tfcore.training.lora import LoRALinear, add_lora_, merge_lora_, save_adapter
from tfcore.views.training.finetuning.measure.tuning import lora_parameters, trainable

CONFIG = ModelConfig(
    vocab_size=30,
    d_model=24,
    n_layers=3,
    attention=AttentionConfig(n_heads=4, n_kv_heads=2),
    feed_forward=FeedForwardConfig(d_ff=40),
    max_seq_len=16,
)


def ids() -> torch.Tensor:
    return torch.randint(0, 30, (2, 9), generator=torch.Generator().manual_seed(1))


def shaken(rank: int) -> Transformer:
    """A model with LoRA whose B is no longer zero."""
    model = Transformer(CONFIG)
    add_lora_(model, rank, alpha=16.0)
    for layer in model.modules():
        if isinstance(layer, LoRALinear):
            nn.init.normal_(layer.b, generator=torch.Generator().manual_seed(2))
    return model


def test_it_begins_as_the_model_it_is_put_on():
    model = Transformer(CONFIG)
    before = model(ids()).logits.detach()
    add_lora_(model, 4, alpha=16.0)
    assert torch.equal(model(ids()).logits, before)


def test_merged_weights_give_the_same_logits():
    model = shaken(4)
    before = model(ids()).logits.detach()
    merge_lora_(model)
    assert not any(isinstance(layer, LoRALinear) for layer in model.modules())
    assert set(model.state_dict()) == set(Transformer(CONFIG).state_dict())
    torch.testing.assert_close(model(ids()).logits, before, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(before, Transformer(CONFIG)(ids()).logits, atol=0.1)


def test_a_saved_adapter_is_read_beside_its_base(tmp_path):
    model = shaken(4).eval()
    base = Transformer(CONFIG)
    base.load_state_dict(
        {name.replace(".base.", "."): one for name, one in model.state_dict().items() if name[-2:] not in (".a", ".b")}
    )
    tfcore.save(base, tmp_path / "base")
    save_adapter(model, tmp_path / "adapter", "org/base")
    loaded, _ = tfcore.load(tmp_path / "adapter")
    torch.testing.assert_close(loaded(ids()).logits, model(ids()).logits, atol=2e-2, rtol=1e-2)  # in float16
    assert not torch.allclose(base.eval()(ids()).logits, model(ids()).logits, atol=0.1)


def test_output_and_gradients_are_those_of_torchs_parametrization():
    base, x = nn.Linear(10, 6), torch.randn(3, 10)
    layer = LoRALinear(base, 2, 5.0, torch.Generator().manual_seed(0))
    nn.init.normal_(layer.b)

    class Updated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(layer.a.detach().clone()), nn.Parameter(layer.b.detach().clone())

        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return weight + 5.0 / 2 * self.b @ self.a

    plain, update = nn.Linear(10, 6), Updated()
    plain.load_state_dict(base.state_dict())
    parametrize.register_parametrization(plain, "weight", update)
    torch.testing.assert_close(layer(x), plain(x))
    layer(x).square().sum().backward()
    plain(x).square().sum().backward()
    torch.testing.assert_close(layer.a.grad, update.a.grad, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(layer.b.grad, update.b.grad, atol=1e-4, rtol=1e-5)
    assert base.weight.grad is None


@pytest.mark.parametrize(
    "config",
    [
        FineTuneConfig(method="full"),
        FineTuneConfig(method="last", layers=1),
        FineTuneConfig(method="last", layers=2),
        FineTuneConfig(method="lora", rank=1),
        FineTuneConfig(method="lora", rank=8),
    ],
    ids=lambda config: config.name,
)
def test_as_many_numbers_are_trained_as_the_formula_says(config):
    weights = choose_weights_(Transformer(CONFIG), config)
    assert sum(weight.numel() for weight in weights) == trainable(CONFIG, config)


def test_as_many_numbers_are_trained_as_with_peft():
    model = Transformer(CONFIG).requires_grad_(False)
    matrices = [name for name, layer in model.named_modules() if "blocks." in name and isinstance(layer, nn.Linear)]
    inject_adapter_in_model(LoraConfig(r=3, target_modules=matrices), model)
    assert sum(weight.numel() for weight in model.parameters() if weight.requires_grad) == lora_parameters(CONFIG, 3)


def test_the_formula_is_the_papers_for_square_matrices():
    # 2 L d r for each kind of square matrix (section 4.2); here the four kinds have other sides
    assert lora_parameters(CONFIG, 3) == 3 * 3 * ((24 + 48) + (24 + 24) + (24 + 80) + (40 + 24))


def test_frozen_weights_stay_and_the_others_move():
    model = Transformer(CONFIG)
    weights = choose_weights_(model, FineTuneConfig(method="last"))
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    F.cross_entropy(model(ids()).logits.flatten(0, 1), ids().flatten()).backward()
    torch.optim.SGD(weights, lr=1.0).step()
    moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
    assert len(moved) == len(weights)
    assert all("blocks.2." in name or "ln_final" in name for name in moved)


def test_a_rank_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="rank=7 must be between 1 and 6"):
        LoRALinear(nn.Linear(10, 6), 7, 1.0, torch.Generator())
