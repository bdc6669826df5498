"""The mixture of experts against the blocks of `transformers` with the same weights."""

import pytest
import torch
from torch import nn
from transformers import DeepseekV2Config, MixtralConfig, Qwen2MoeConfig
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Moe
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeSparseMoeBlock

from benchmarks.experts import peer
from tests.small import config, difference
from tfcore.experts import Experts
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import ExpertsConfig

TOLERANCE = 1e-5
WIDTH = {"hidden_size": 24, "num_attention_heads": 6, "num_experts_per_tok": 3, "experts_implementation": "eager"}
TOKENS = [(1, 1), (2, 7), (3, 50)]  # the last with enough for each expert that products are padded


def scrambled(block):
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=0.2)
    return block.eval().requires_grad_(False)


def ours(theirs, **values):
    """The same weights in our layer; expert matrices lie alike, the gate first."""
    experts = ExpertsConfig(n_experts=5, top_k=3, d_expert=10, **values)
    layer = Experts(config(experts=experts)).eval().requires_grad_(False)
    state = {"router.weight": theirs.gate.weight, "up": theirs.experts.gate_up_proj, "down": theirs.experts.down_proj}
    if shared := getattr(theirs, "shared_experts", None) or getattr(theirs, "shared_expert", None):
        state["shared_up.weight"] = torch.cat([shared.gate_proj.weight, shared.up_proj.weight])
        state["shared_down.weight"] = shared.down_proj.weight
    layer.load_state_dict(state)
    return layer


def assert_same(layer, theirs, shape):
    x = torch.randn(*shape, 24)
    output = layer(x, ActivationRecorder())
    assert difference(output, theirs(x)) < TOLERANCE
    assert float(output.abs().max()) > 0.1
    _, weights, indices = theirs.gate(x.view(-1, 24))
    tape = ActivationRecorder(capture=("mlp.router.*",))
    layer(x, tape)
    found = torch.zeros(len(weights), 5).scatter(1, tape.record["mlp.router.indices"].flatten(0, 1), 1.0)
    assert torch.equal(found, torch.zeros(len(weights), 5).scatter(1, indices, 1.0))
    sums = tape.record["mlp.router.weights"].sum(-1).flatten()
    assert difference(sums, weights.sum(-1)) < TOLERANCE


@pytest.mark.parametrize("shape", TOKENS)
def test_mixtral(shape):
    theirs = MixtralSparseMoeBlock(MixtralConfig(intermediate_size=10, num_local_experts=5, **WIDTH))
    theirs = scrambled(theirs)
    assert_same(ours(theirs), theirs, shape)
    assert_same(ours(theirs, softmax="before", renormalize=True), theirs, shape)


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("shape", TOKENS)
def test_qwen2_moe(shape, renormalize):
    sizes = {"num_experts": 5, "moe_intermediate_size": 10, "shared_expert_intermediate_size": 20}
    theirs = scrambled(Qwen2MoeSparseMoeBlock(Qwen2MoeConfig(norm_topk_prob=renormalize, **sizes, **WIDTH)))
    theirs.shared_expert_gate = Half()  # theirs weighs the shared expert by a gate that we do not have
    layer = ours(theirs, softmax="before", renormalize=renormalize, n_shared=2)
    layer.shared_down.weight *= 0.5
    assert_same(layer, theirs, shape)


class Half(nn.Module):
    """A gate whose sigmoid is 1/2."""

    def forward(self, x):
        return torch.zeros(*x.shape[:-1], 1)


@pytest.mark.parametrize("shape", TOKENS)
def test_deepseek_v2(shape):
    sizes = {"n_routed_experts": 5, "moe_intermediate_size": 10, "n_shared_experts": 2}
    shape_of_choice = {"topk_method": "greedy", "routed_scaling_factor": 1.0}
    theirs = scrambled(DeepseekV2Moe(DeepseekV2Config(**sizes, **shape_of_choice, **WIDTH)))
    assert_same(ours(theirs, softmax="before", n_shared=2), theirs, shape)


@pytest.mark.parametrize("implementation", ["eager", "grouped_mm", "batched_mm"])
def test_the_peer_of_the_benchmark_has_our_weights(implementation):
    shape = config(d_ff=16, experts=ExpertsConfig())
    layer = Experts(shape).eval().requires_grad_(False)
    x = torch.randn(2, 5, 24)
    assert difference(layer(x, ActivationRecorder()), peer(layer, implementation)(x)) < TOLERANCE
