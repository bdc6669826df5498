"""Three measures of what attention heads do for the next token, and where they disagree.

The share of the state that a head carries (information flow routes, arXiv:2403.00824), its direct share of the token's
logit (direct logit attribution, arXiv:2211.00593, section 3.1), and what is lost when it is switched off.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.information_flow import Flow
from tfcore.analysis.inside.logit_attribution import contributions, stream_parts
from tfcore.analysis.one_text import first_tokens
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Matrix = Float[ndarray, "layer head"]


@dataclass(frozen=True, slots=True)
class HeadMeasures(Finding):
    """The head that each measure puts first, as "2.5", with its value.

    Args:
        token: the next token.
        carried: share of the state that the head brought from other tokens.
        direct: share of the token's logit, above the mean of all logits, that it wrote itself; logits.
        effect: fall of the token's log-probability without it; nats.
        is_exact: whether all effects are measured; some are estimated otherwise.
    """

    token: str
    carried: tuple[str, float]
    direct: tuple[str, float]
    effect: tuple[str, float]
    is_exact: bool

    @property
    def names(self) -> int:
        """How many different heads come first."""
        return len({self.carried[0], self.direct[0], self.effect[0]})

    @property
    def sentence(self) -> str:
        how = "measured" if self.is_exact else "partly estimated"
        first = (
            f"Head {self.carried[0]} carries most of the state from token to token, {self.carried[1]:.0%}; "
            f"head {self.direct[0]} writes most of the logit of '{self.token}' itself, {self.direct[1]:+.2f}; "
            f"without head {self.effect[0]} its log-probability falls most, by {self.effect[1]:.2f} nats ({how})."
        )
        if self.names == 1:
            return f"{first} The three measures agree on the first head."
        return (
            f"{first} The measures name {'two' if self.names == 2 else 'three'} heads: what is carried need not be "
            "used, and a head can matter through what later heads make of it."
        )


def carried_by_head(flow: Flow, n_layers: int, n_heads: int) -> Matrix:
    """The share of the state that each head brought from other tokens, all its routes together."""
    found = np.zeros((n_layers, n_heads))
    for route in flow.routes:
        if route.query != route.key:
            found[route.layer, route.head] += route.share
    return found


def direct_by_head(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, token: int) -> Matrix | None:
    """The direct share of each head in a next token's logit, above the mean of all logits; None where the stream is no
    plain sum (post-norm)."""
    if model.config.norm_placement == "post":
        return None
    ids = first_tokens(model, tokenizer, text, limit).ids
    return contributions(model, stream_parts(model, ids, len(ids) - 1), token, "mean").heads


def compare(token: str, carried: Matrix, direct: Matrix, effects: Matrix, *, is_exact: bool) -> HeadMeasures:
    """Which head each measure puts first; matrices as of the functions above, effects in nats."""
    return HeadMeasures(token, _largest(carried), _largest(direct), _largest(effects), is_exact)


def _largest(values: Matrix) -> tuple[str, float]:
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return f"{layer}.{head}", float(values[layer, head])
