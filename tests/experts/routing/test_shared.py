"""What shared experts write, and what a model is without them: against a loop over tokens, by hand."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tfcore import ModelConfig, Transformer
from tfcore.part_configs import AttentionConfig, ExpertsConfig
from tfcore.views.experts.routing.measure.shared import SharedWork, shared_work
from tfcore.views.experts.routing.say.shared import Ablations, SharedShares, ablations, share_titles, shared_shares

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def model(n_shared: int = 2) -> Transformer:
    experts = ExpertsConfig(n_experts=4, top_k=2, d_expert=6, n_shared=n_shared, softmax="before")
    config = ModelConfig(
        vocab_size=11, d_model=8, n_layers=3, attention=AttentionConfig(n_heads=2), max_seq_len=16, experts=experts
    ).changed(dense_layers=1)
    network = Transformer(config, seed=1).eval().requires_grad_(False)
    for parameter in network.parameters():
        parameter.mul_(3)  # as large as trained ones, so that what is left out is missed
    return network


def by_hand(network: Transformer, shared: bool = True, routed: bool = True) -> tuple[np.ndarray, list[np.ndarray]]:
    """Losses and the shared part's share by layer, each feed-forward layer computed anew token by token."""
    shares = []

    def replace(module, inputs, _):
        x, written = inputs[0][0], []
        for row in x:
            probs = module.router(row).softmax(-1)
            parts = torch.zeros(2, len(row))
            for i in probs.topk(2).indices:
                gate, up = (module.up[i] @ row).chunk(2)
                parts[1] += probs[i] * (module.down[i] @ (F.silu(gate) * up))
            gate, up = (module.shared_up.weight @ row).chunk(2)
            parts[0] = module.shared_down.weight @ (F.silu(gate) * up)
            written.append(parts)
        stacked = torch.stack(written)  # (seq, part, d_model)
        total = stacked.sum(1)
        shares.append(torch.einsum("sd,sd->s", stacked[:, 0], total) / total.norm(dim=-1) ** 2)
        return (stacked * torch.tensor([float(shared), float(routed)])[:, None]).sum(1)[None]

    hooks = [block.mlp.register_forward_hook(replace) for block in network.decoder.blocks[1:]]
    logits = network(torch.tensor([IDS])).logits[0].log_softmax(-1)
    for hook in hooks:
        hook.remove()
    losses = [-float(logits[i, target]) for i, target in enumerate(IDS[1:])]
    return np.array(losses), [share.detach().numpy() for share in shares]


@torch.no_grad()
def test_shares_and_losses_are_those_of_a_loop():
    network = model()
    found = shared_work(network, IDS)
    losses, shares = by_hand(network)
    assert found.layers == (1, 2)
    assert found.share == pytest.approx(np.stack(shares), abs=1e-4)
    assert found.losses == pytest.approx(losses, abs=1e-4)
    assert found.without_shared == pytest.approx(by_hand(network, shared=False)[0], abs=1e-4)
    assert found.without_routed == pytest.approx(by_hand(network, routed=False)[0], abs=1e-4)
    assert np.abs(found.without_shared - losses).max() > 0.1


def test_nothing_is_shared_in_other_models():
    with pytest.raises(ValueError, match=r"no shared experts; take one with config\.experts\.n_shared of 1 or more"):
        shared_work(model(n_shared=0), IDS)


def test_one_token_has_nothing_to_predict():
    assert shared_work(model(), IDS[:1]).losses.shape == (0,)


TOKENS = [f" t{i}" for i in range(8)]


def random_work() -> SharedWork:
    rng = np.random.default_rng(2)
    work = SharedWork((1, 2), rng.random((2, 8)), *rng.random((3, 7)) * [[1], [3], [3]])
    work.without_routed[3] = work.without_shared[3]  # a tie is no more
    return work


def test_the_tokens_with_the_least_and_the_largest_share():
    work = random_work()
    for at, layer in enumerate((1, 2)):
        shares = work.share[at].tolist()
        found = shared_shares(work, TOKENS, at, 3)
        assert (found.layer, found.active) == (layer, 4)
        assert found.mean == pytest.approx(sum(shares) / 8)
        assert found.least == (TOKENS[shares.index(min(shares))], min(shares))
        assert found.most == (TOKENS[shares.index(max(shares))], max(shares))
        assert found.by_layer == tuple(
            (i + 1, pytest.approx(sum(row) / 8)) for i, row in enumerate(work.share.tolist())
        )
        assert share_titles(work, at)[5] == f"{shares[5]:.0%} of what layer {layer} adds is the shared expert's"


def test_the_token_that_needs_the_shared_expert_most():
    work = random_work()
    shared = [float(b - a) for a, b in zip(work.losses, work.without_shared, strict=True)]
    routed = [float(b - a) for a, b in zip(work.losses, work.without_routed, strict=True)]
    found = ablations(work, TOKENS)
    assert found.loss == pytest.approx(sum(work.losses.tolist()) / 7)
    assert found.without_shared - found.loss == pytest.approx(sum(shared) / 7)
    assert found.without_routed - found.loss == pytest.approx(sum(routed) / 7)
    assert found.worst == (TOKENS[shared.index(max(shared)) + 1], pytest.approx(max(shared)))
    assert (found.more, found.tokens) == (sum(a > b for a, b in zip(shared, routed, strict=True)), 7)
    assert 0 < found.more < 7


def test_sentences():
    assert str(SharedShares(1, 0.375, (" the", 0.02), ("and", 0.94), 3, ((0, 0.25), (1, 0.375)))) == (
        "The shared expert writes 38% of what layer 1 adds, from 2% for '·the' to 94% for 'and'; one of the 3 active "
        "experts would write 33%. On average it is 25% in layer 0, 38% in layer 1."
    )
    found = Ablations(1.5, 2.75, 4.0, (",", 10.25), 12, 78)
    assert str(found) == (
        "Without the shared expert +1.25 nats per token, without the routed ones +2.50. Ablating the shared one costs "
        "more for 12 of 78 tokens, most for ',' (+10.25)."
    )
    assert (found.trained_words, found.shared_words, found.routed_words) == (
        "1.500",
        ("2.750", "+1.250"),
        ("4.000", "+2.500"),
    )
