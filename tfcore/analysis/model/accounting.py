"""What a model costs, from its config alone: parameters, operations, bytes. Nothing is built or run.

parameters(config)                   how many, where, and how many of them each token uses
flops(config, seq)                   floating-point operations, forward and backward
memory(config, batch=..., seq=...)   bytes for weights, gradients, optimiser, activations, caches
"""

from tfcore.analysis.model.flop_count import FlopCount, flops
from tfcore.analysis.model.memory_use import MemoryUse, memory
from tfcore.analysis.model.parameter_count import ParameterCount, parameters

__all__ = ["FlopCount", "MemoryUse", "ParameterCount", "flops", "memory", "parameters"]
