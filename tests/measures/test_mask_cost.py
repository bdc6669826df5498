"""The pairs that a mask leaves, counted one by one."""

from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.mask_cost import mask_cost
from tfcore.measures.mask_patterns import FUNCTIONS, MaskConfig, build


@given(n=st.integers(1, 20), kind=st.sampled_from(list(FUNCTIONS)))
def test_cost_counts_pairs(n, kind):
    config = MaskConfig(kind=kind)
    pairs = [(q, k) for q in range(n) for k in range(n) if build(config, n)[q, k]]
    cost = mask_cost(config, n)
    assert (cost.pairs, cost.ahead) == (len(pairs), sum(k > q for q, k in pairs))
    assert cost.share == len(pairs) / n**2
