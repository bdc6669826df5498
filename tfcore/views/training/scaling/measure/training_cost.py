"""The cost of a training on real hardware: days, money and energy, from stated assumptions."""

from dataclasses import dataclass

from tfcore.views.training.scaling.measure.compute_budget import PER_TOKEN

ORDINARY = 0.4  # share of the peak, between what published runs reach


@dataclass(frozen=True, slots=True)
class Hardware:
    """One accelerator.

    Args:
        peak: operations a second of dense matrix products in bfloat16 with sums in float32, as the maker states.
        watts: the most the maker lets the board draw; of the TPU, whose maker does not say, the most that was measured.
        source: where the maker says so.
    """

    name: str
    peak: float
    watts: float
    source: str


HARDWARE = {
    "a100": Hardware("A100 SXM 80 GB", 312e12, 400, "NVIDIA A100 datasheet"),
    "h100": Hardware("H100 SXM", 989.4e12, 700, "NVIDIA H100 white paper, dense"),
    "h200": Hardware("H200 SXM", 989.5e12, 700, "NVIDIA H200 datasheet, half of the sparse figure"),
    "b200": Hardware("B200", 2250e12, 1000, "NVIDIA HGX B200 datasheet, half of the sparse figure"),
    "mi300x": Hardware("MI300X", 1307.4e12, 750, "AMD MI300X datasheet"),
    "tpu_v4": Hardware("TPU v4", 275e12, 192, "arXiv:2304.01433, table 4"),
    "rtx4090": Hardware("RTX 4090", 165.2e12, 450, "NVIDIA Ada white paper, sums in float32"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A training and what it runs on.

    Args:
        n: parameters that compute each token.
        d: tokens.
        hardware: key of HARDWARE.
        count: accelerators.
        mfu: share of the peak that the training's 6 N D operations reach (arXiv:2204.02311, appendix B).
        price: of an accelerator for an hour, in dollars.
        pue: power usage effectiveness: energy of the whole facility over that of its IT equipment.

    Raises:
        ValueError: numbers out of range, or hardware that is not known.
    """

    n: float
    d: float
    hardware: str
    count: int
    mfu: float
    price: float
    pue: float

    def __post_init__(self) -> None:
        if self.hardware not in HARDWARE:
            raise ValueError(f"hardware={self.hardware!r} is not one of {', '.join(HARDWARE)}")
        if min(self.n, self.d, self.count, self.mfu) <= 0 or self.mfu > 1 or self.price < 0 or self.pue < 1:
            raise ValueError(
                f"n={self.n}, d={self.d} and count={self.count} must be above 0, mfu={self.mfu} above 0 and at most 1, "
                f"price={self.price} 0 or more, pue={self.pue} 1 or more"
            )


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a plan.

    Args:
        flops: operations, 6 N D.
        days: of wall-clock time.
        hours: of all accelerators together.
        dollars: for those hours.
        kwh: kilowatt-hours: every accelerator at its full power, times the PUE; hosts and network are left out.
    """

    flops: float
    days: float
    hours: float
    dollars: float
    kwh: float


def training_cost(plan: Plan) -> Cost:
    """C = 6 N D operations at count x peak x MFU a second. Nothing fails, waits or is tried twice."""
    hardware, flops = HARDWARE[plan.hardware], PER_TOKEN * plan.n * plan.d
    hours = flops / (hardware.peak * plan.mfu) / 3600
    kwh = hours * hardware.watts / 1000 * plan.pue
    return Cost(flops, hours / plan.count / 24, hours, hours * plan.price, kwh)


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A training whose makers say how long it took.

    Args:
        n: parameters that compute each token.
        hours: of all accelerators together.
    """

    name: str
    n: float
    d: float
    hardware: str
    hours: float
    source: str

    @property
    def mfu(self) -> float:
        """The share of the peak that follows from 6 N D and the hours."""
        return PER_TOKEN * self.n * self.d / (self.hours * 3600 * HARDWARE[self.hardware].peak)

    @property
    def numbers(self) -> tuple[str, str]:
        """Hours, and the share of the peak."""
        return f"{self.hours:,.0f}", f"{self.mfu:.0%}"


RUNS = (
    PublishedRun("BLOOM", 176.2e9, 366e9, "a100", 1_082_990, "arXiv:2211.05100, arXiv:2211.02001"),
    PublishedRun("LLaMA 7B", 6.7e9, 1.0e12, "a100", 82_432, "arXiv:2302.13971, table 15"),
    PublishedRun("LLaMA 65B", 65.2e9, 1.4e12, "a100", 1_022_362, "arXiv:2302.13971, table 15"),
    PublishedRun("Llama 2 70B", 69.0e9, 2.0e12, "a100", 1_720_320, "arXiv:2307.09288, table 2"),
    PublishedRun("Llama 3.1 405B", 405.9e9, 15.6e12, "h100", 30_840_000, "its model card; arXiv:2407.21783"),
    PublishedRun("DeepSeek-V3", 37e9, 14.8e12, "h100", 2_664_000, "arXiv:2412.19437, table 1 (H800, mostly in 8 bits)"),
)
