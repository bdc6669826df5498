"""Sentences about memory for serving, each built from what was simulated."""

from collections.abc import Mapping

from tfcore.analysis.inference.paged_memory import LATER, NEVER, STRANDED, TOKEN, MemoryRun, Policy


def fragmentation(runs: Mapping[Policy, MemoryRun]) -> str:
    """What the contiguous cache and the paged one make of the same requests, in sentences."""
    one, paged = runs["reserve"], runs["paged"]
    lost = ", ".join(
        f"{one.share(state):.0%} {name}"
        for state, name in ((LATER, "reserved"), (NEVER, "internal"), (STRANDED, "external fragmentation"))
    )
    preempted = f"{paged.evicted} preemption{'s' if paged.evicted > 1 else ''}" if paged.evicted else "no preemption"
    return (
        f"Here {one.share(TOKEN):.0%} of the contiguous memory in use holds tokens ({lost}), of the paged one "
        f"{paged.share(TOKEN):.0%}; at most {one.running.max()} and {paged.running.max()} requests run at once, with "
        f"{preempted}."
    )
