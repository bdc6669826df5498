"""The experiment of the page on pitfalls."""

from tfcore.analysis.block.pitfall_findings import finding
from tfcore.analysis.block.pitfalls import PitfallConfig, last_said, train_twins
from tfcore.figures.block.pitfalls import loss_figure
from tfcore.figures.theme import Figure


def twins(config: PitfallConfig) -> Figure:
    """A Transformer with a mistake, trained beside its healthy twin: the same seed, the same batches."""
    looks = []
    for look in train_twins(config):
        if look is not None:
            looks.append(look)
            (bad, good), (symptom, healthy) = look.loss, look.symptom
            print(f"step {look.step:3}: loss {bad:.3f} and {good:.3f}, symptom {symptom:.3g} and {healthy:.3g}")
    found, spoken = finding(config, looks), last_said(looks)
    print(found.sentence)
    if spoken is not None and spoken.said is not None:
        print("it says:", *spoken.said, sep="\n")

    return loss_figure(looks, found, config.steps, height=380)
