"""The experiment of the page on balance."""

from tfcore.analysis.experts.balance import BalanceConfig, fact_floor, train_together
from tfcore.analysis.experts.balance_findings import ending
from tfcore.figures.experts.balance import Curve, curves_figure
from tfcore.figures.theme import Figure


def remedies(configs: tuple[BalanceConfig, ...]) -> Figure:
    """A mixture of experts trained without a remedy, and beside it with one: who gets the letters."""
    # The same seed, the same batches; a minute or so for two.
    looks = [look for look in train_together(configs) if look is not None]
    runs = list(zip(*looks, strict=True))
    for config, run in zip(configs, runs, strict=True):
        end = ending(run)
        print(f"{config.remedy}: the busiest of 8 experts takes {end.largest:.0%}, {end.idle} get less than 1 %")
        print(f"    held-out loss {end.held_out:.3f} nats, as it writes {end.written:.3f}")
    curves = [Curve(config.remedy, run, f"@cat{i}") for i, (config, run) in enumerate(zip(configs, runs, strict=True))]

    return curves_figure(curves, configs[0].steps, fact_floor(), height=720)
