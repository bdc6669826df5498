"""Requests as a server meets them: when they come, how long they ask, how long they are answered. Drawn from a seed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

SPREAD = 0.8  # of the logarithm of a length: the longest of a hundred is about ten times the median


@dataclass(frozen=True, slots=True)
class Request:
    """One text.

    Args:
        arrival: the step at which it comes.
        prompt: tokens it brings.
        output: tokens it will be answered with, which nobody knows before.
    """

    arrival: int
    prompt: int
    output: int

    @property
    def length(self) -> int:
        """Tokens in the end."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How requests come.

    Args:
        requests: how many.
        prompt, output: tokens on average, before they are cut to what is possible.
        every: steps between two of them, on average.
        longest: tokens of a prompt and its answer at most.
        seed: another one draws others.
    """

    requests: int = 60
    prompt: int = 32
    output: int = 64
    every: float = 3.0
    longest: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.requests, self.prompt, self.output) < 1 or self.longest < 2 or self.every <= 0:
            raise ValueError(
                f"requests={self.requests}, prompt={self.prompt}, output={self.output} must be 1 or more, "
                f"longest={self.longest} 2 or more, every={self.every} above 0"
            )


def request_trace(traffic: Traffic) -> tuple[Request, ...]:
    """Draw the requests: exponential pauses (a Poisson process), log-normal lengths, many short and a few long."""
    generator = np.random.default_rng(traffic.seed)
    pauses = generator.exponential(traffic.every, traffic.requests)
    arrivals = np.floor(np.cumsum(pauses) - pauses[0]).astype(int)  # the first comes at once
    prompts = np.minimum(_lengths(generator, traffic.prompt, traffic.requests), traffic.longest - 1)
    outputs = np.minimum(_lengths(generator, traffic.output, traffic.requests), traffic.longest - prompts)
    return tuple(
        Request(int(arrival), int(prompt), int(output))
        for arrival, prompt, output in zip(arrivals, prompts, outputs, strict=True)
    )


def _lengths(generator: np.random.Generator, mean: int, count: int) -> Float[ndarray, " request"]:
    """Log-normal lengths of this mean: exp of a normal whose mean is log(mean) - SPREAD^2 / 2; at least 1."""
    return np.maximum(1.0, np.round(generator.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, count)))
