"""Findings on the share of a server's cache memory that holds tokens under each policy, and on the rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfcore.measures.quantities import counted
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.kv_cache.measure.paging import (
    LATER,
    NAMES,
    NEVER,
    SHORT,
    STRANDED,
    TOKEN,
    MemoryRun,
    Policy,
)


def token_shares(runs: Mapping[Policy, MemoryRun]) -> Statement:
    """How much of a memory holds tokens under each policy, as shares of what is in use or stranded."""
    run = runs["paged"]
    return state(
        "token shares",
        "{requests} requests on a memory of {slots:,} tokens. Share of the memory in use or stranded that holds "
        "tokens: {shares}.",
        requests=len(run.waited),
        slots=run.slots,
        shares="; ".join(f"{NAMES[policy]}: {run.share(TOKEN):.0%}" for policy, run in runs.items()),
    )


def waste_shares(runs: Mapping[Policy, MemoryRun]) -> Statement:
    """Shares of the memory in use or stranded that hold no token."""
    shares = (
        f"{SHORT[policy]} {run.share(LATER):.0%} reserved, {run.share(NEVER):.0%} internal fragmentation, "
        f"{run.share(STRANDED):.0%} external"
        for policy, run in runs.items()
    )
    return state("waste", "Shares of the memory in use or stranded: {shares}.", shares="; ".join(shares))


def most_at_once(runs: Mapping[Policy, MemoryRun]) -> Statement:
    """How many requests run at once at most under each policy."""
    most = ", ".join(f"{SHORT[policy]} up to {int(run.running.max())}" for policy, run in runs.items())
    return state("most at once", "Requests that run at once: {most}.", most=most)


@dataclass(frozen=True, slots=True)
class Fragmentation(Finding):
    """The contiguous cache and the paged one on the same requests.

    Args:
        tokens, paged_tokens: shares of the memory in use that hold tokens.
        reserved, internal, external: what of the contiguous one does not.
        running, paged_running: requests at once at most.
        preempted: how often a request of the paged one lost its memory.
    """

    tokens: float
    paged_tokens: float
    reserved: float
    internal: float
    external: float
    running: int
    paged_running: int
    preempted: int

    @property
    def sentence(self) -> str:
        return (
            f"Here {self.tokens:.0%} of the contiguous memory in use holds tokens ({self.reserved:.0%} reserved, "
            f"{self.internal:.0%} internal, {self.external:.0%} external fragmentation), of the paged one "
            f"{self.paged_tokens:.0%}; at most {self.running} and {self.paged_running} requests run at once, with "
            f"{counted(self.preempted, 'preemption') if self.preempted else 'no preemption'}."
        )


def fragmentation(runs: Mapping[Policy, MemoryRun]) -> Fragmentation:
    """Compare the policies that know no lengths."""
    one, paged = runs["reserve"], runs["paged"]
    return Fragmentation(
        tokens=one.share(TOKEN),
        paged_tokens=paged.share(TOKEN),
        reserved=one.share(LATER),
        internal=one.share(NEVER),
        external=one.share(STRANDED),
        running=int(one.running.max()),
        paged_running=int(paged.running.max()),
        preempted=paged.evicted,
    )


def policy_row(run: MemoryRun) -> dict[str, str | int]:
    """The row of a policy in a table."""
    return {
        "tokens": f"{run.share(TOKEN):.1%}",
        "reserved": f"{run.share(LATER):.1%}",
        "internal fragmentation": f"{run.share(NEVER):.1%}",
        "external fragmentation": f"{run.share(STRANDED):.1%}",
        "most at once": int(run.running.max()),
        "mean at once": f"{run.running.mean():.1f}",
        "steps": run.steps,
        "mean wait": f"{run.waited.mean():.1f}",
        "preempted": run.evicted,
    }
