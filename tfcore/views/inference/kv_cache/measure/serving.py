"""Does it fit? Weights and caches of many users on a few GPUs, and what each remedy brings."""

from dataclasses import dataclass, replace
from typing import Literal

from tfcore.measures.kv_bytes import CacheShape, cache_bytes, grouped_heads, shared
from tfcore.measures.precision import BITS, Precision, stored_bytes
from tfcore.measures.quantities import Unit, amount

Remedy = Literal["asked", "gqa", "int8 cache", "int8 weights", "paging", "tensor parallelism", "all"]

ENDLESS = 16_777_216  # tokens; a context that still fits at this length has no limit here


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A model, its users, and the GPUs that are there for them.

    Args:
        parameters: of the model with this shape.
        kv_head: parameters of one KV head, from which those of other numbers of KV heads follow; 0 where they are
            not known, and the parameters are then taken to stay.
        weights: their precision.
        shape: of the cache.
        cache: its precision.
        users: texts at the same time.
        tokens: the longest a text may get.
        filled: of that length, how much a text has on average.
        block: 0 reserves the longest length for every user; otherwise memory is given in blocks of so many tokens.
        gpus: how many.
        parallel: over how many of them one copy of the model is cut (tensor parallelism); each such group has a whole
            copy and its share of the users.
        memory: bytes of one.
        spared: share of it kept free for activations and whatever else a server needs.

    Raises:
        ValueError: GPUs that do not fall into groups of that size, or numbers out of range.
    """

    parameters: int
    weights: Precision
    shape: CacheShape
    cache: Precision
    users: int
    tokens: int
    filled: float
    block: int
    gpus: int
    parallel: int
    memory: int
    spared: float
    kv_head: int = 0

    def __post_init__(self) -> None:
        if self.parallel < 1 or self.gpus % self.parallel:
            fits = ", ".join(str(n) for n in range(1, self.gpus + 1) if self.gpus % n == 0)
            raise ValueError(f"gpus={self.gpus} do not fall into groups of parallel={self.parallel}; possible: {fits}")
        if min(self.users, self.tokens) < 1 or self.block < 0 or not (0 < self.filled <= 1 and 0 <= self.spared < 1):
            raise ValueError(
                f"users={self.users} and tokens={self.tokens} must be 1 or more, block={self.block} 0 or more, "
                f"filled={self.filled} above 0 and at most 1, spared={self.spared} from 0 to below 1"
            )


@dataclass(frozen=True, slots=True)
class Budget:
    """The bytes that the fullest GPU has to hold.

    Args:
        weights: its part of one copy of the model.
        cache: its part of the caches of its group's users.
        spared: kept free.
        memory: what it has.
        most_users: the largest number of users that fits, all else the same; 0 where not even the weights do.
        longest: the longest context that fits, all else the same; 0 where none does.
    """

    weights: int
    cache: int
    spared: int
    memory: int
    most_users: int
    longest: int

    @property
    def free(self) -> int:
        """Bytes left over; where it does not fit, minus those that lack."""
        return self.memory - self.weights - self.cache - self.spared

    @property
    def fits(self) -> bool:
        """Whether it fits into the memory."""
        return self.free >= 0

    def verdict(self, unit: Unit) -> str:
        """Whether it fits, and by how much (not)."""
        free = amount(abs(self.free), unit)
        return f"fits, {free} left" if self.fits else f"{free} too much"

    @property
    def most_users_words(self) -> str:
        return f"{self.most_users:,}"

    @property
    def longest_words(self) -> str:
        return f"{self.longest:,}" if self.longest < ENDLESS else f"{ENDLESS:,} and more"


def budget(service: Service) -> Budget:
    """Add up what the fullest GPU has to hold, and look for the largest number of users and the longest context that
    fit."""
    weights, spared = _weights(service), int(service.memory * service.spared)
    groups = service.gpus // service.parallel
    room, one = service.memory - weights - spared, user_bytes(service)
    most_users = groups * max(0, room // one)
    here = -(-service.users // groups)  # users of the fullest group
    return Budget(weights, here * one, spared, service.memory, most_users, _longest(service, room // here))


def user_bytes(service: Service) -> int:
    """The bytes of one user's cache on each GPU of a group.

    A group shares the KV heads out. With fewer heads than GPUs, several keep the same head; and the latent
    vector, which all heads read, is kept by every GPU.
    """
    shape = service.shape
    whole = cache_bytes(shape, held_tokens(service), 1, service.cache)
    if shape.latent:
        return whole
    return whole * -(-shape.kv_heads // service.parallel) // shape.kv_heads


def held_tokens(service: Service) -> int:
    """Tokens that memory is taken for: the longest length, or with blocks as many as hold the average text."""
    if not service.block:
        return service.tokens
    mean = max(1, round(service.tokens * service.filled))
    return -(-mean // service.block) * service.block


def _weights(service: Service) -> int:
    return -(-stored_bytes(service.parameters, service.weights) // service.parallel)


def _longest(service: Service, room: int) -> int:
    """The longest context of which one user's cache fits into so many bytes: halving, since longer is never smaller."""
    low, high = 0, ENDLESS
    while low < high:
        middle = (low + high + 1) // 2
        if user_bytes(replace(service, tokens=middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def remedies(service: Service, block: int = 16) -> dict[Remedy, Service]:
    """The same service with one thing changed, and with all of them; a remedy that is in use already is left out.

    "gqa": 8 KV heads (arXiv:2305.13245), and weights to match. "int8 cache", "int8 weights": one byte per value.
    "paging": blocks on demand, not the maximum length reserved (arXiv:2309.06180). "tensor parallelism": one copy of
    the model over all GPUs (arXiv:1909.08053, section 3).
    """
    changed: dict[Remedy, Service] = {}
    everything = service
    for name in ("gqa", "int8 cache", "int8 weights", "paging", "tensor parallelism"):
        if (better := _with(service, name, block)) != service:
            changed[name] = better
            everything = _with(everything, name, block)
    if len(changed) > 1:
        changed["all"] = everything
    return {"asked": service, **changed}


def regrouped(parameters: int, built: CacheShape, now: CacheShape, kv_head: int) -> int:
    """The parameters of a model, had it been built with another number of KV heads of `kv_head` parameters each.

    Latent attention has matrices of other shapes: there the number stays, as where kv_head is 0.
    """
    if built.latent or now.latent:
        return parameters
    return parameters + kv_head * (now.kv_heads - built.kv_heads)


def _with(service: Service, name: str, block: int) -> Service:
    """One remedy applied, unless the service is as good in this already."""
    if name == "gqa":
        grouped = shared(service.shape, "gqa")
        if grouped.numbers >= service.shape.numbers:
            return service
        fewer = regrouped(service.parameters, service.shape, grouped, service.kv_head)
        return replace(service, shape=grouped, parameters=fewer)
    if name == "int8 cache":
        return replace(service, cache="int8") if BITS[service.cache] > BITS["int8"] else service
    if name == "int8 weights":
        return replace(service, weights="int8") if BITS[service.weights] > BITS["int8"] else service
    if name == "paging":
        return service if service.block else replace(service, block=block)
    return replace(service, parallel=service.gpus)


Budgets = dict[Remedy, tuple[Service, Budget]]


def budgets(service: Service, block: int = 16) -> Budgets:
    """Each remedy with what then has to be held; "asked" is the service itself."""
    return {name: (changed, budget(changed)) for name, changed in remedies(service, block).items()}


def remedy_names(service: Service) -> dict[Remedy, str]:
    """The effect of each remedy on a service, in words."""
    return {
        "asked": "as set above",
        "gqa": f"{grouped_heads(service.shape.heads)} KV heads",
        "int8 cache": "cache in int8",
        "int8 weights": "weights in int8",
        "paging": "paged cache",
        "tensor parallelism": f"tensor parallelism {service.gpus}",
        "all": "all of these",
    }


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is served, as it was built.

    Args:
        shape: of its cache.
        context: the longest text that it reads; None where it has no fixed length.
        kv_head: see Service.
    """

    name: str
    parameters: int
    shape: CacheShape
    context: int | None = None
    kv_head: int = 0
