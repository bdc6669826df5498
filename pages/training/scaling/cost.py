"""A section of the page on scaling: days, money and energy of a training, and how far 6 N D is off."""

import pandas as pd
import streamlit as st

from pages.training.scaling.choices import metrics, ten_to
from pages.ui import controls, fragments, page
from pages.ui.frame import Panel, panel
from tfcore.measures.quantities import round_count, whole
from tfcore.presets import NAMES as PRESET_NAMES
from tfcore.views.training import scaling as views
from tfcore.views.training.scaling.measure.known_models import MODELS
from tfcore.views.training.scaling.measure.training_cost import HARDWARE, RUNS, Plan
from tfcore.views.training.scaling.say.training_cost import reached_peak

OWN = "own"
PUE = "power usage effectiveness: energy of the whole facility over that of its IT equipment"
WELL_KNOWN = (
    "Pythia 70M",
    "GPT-3",
    "Chinchilla",
    "PaLM",
    "TinyLlama",
    "Llama 2 70B",
    "Llama 3 8B",
    "Llama 3.1 405B",
    "DeepSeek-V3",
    "Kimi K2",
)
TRAINED = {model.name: (model.used, model.tokens) for model in MODELS if model.name in WELL_KNOWN and model.tokens}
RUN_NAMES = {OWN: "your own, by sliders"} | {name: name for name in WELL_KNOWN}
HARDWARE_NAMES = {key: hardware.name for key, hardware in HARDWARE.items()}
COUNTS = [1, 8, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]
COUNTED = (
    "gpt2_small",
    "gpt2_xl",
    "gpt3_175b",
    "llama_7b",
    "llama2_70b",
    "llama3_8b",
    "llama3_405b",
    "mixtral_8x7b",
    "qwen2_7b",
    "gemma_7b",
)


def what_it_costs() -> None:
    """Days, money and energy of a training, and how far 6 N D is off."""
    with panel(None) as p:
        p.examples(
            {
                "Llama 3.1 405B": {"run": "Llama 3.1 405B", "on": "h100", "count": 16384, "mfu": 40, "price": 2.0},
                "GPT-3 on A100s": {"run": "GPT-3", "on": "a100", "count": 1024, "mfu": 45, "price": 1.5},
                "at home": {"run": OWN, "n": 8.1, "d": 9.4, "on": "rtx4090", "count": 1, "mfu": 35, "price": 0.4},
                "DeepSeek-V3": {"run": "DeepSeek-V3", "on": "h100", "count": 2048, "mfu": 35, "price": 2.0},
                "an MFU of 10 %": {"mfu": 10},
            }
        )
        planned(p)
        assumptions()
        rule(p)
        p.what_to_see(
            "Time is operations over speed, so twice the accelerators take half the time and the same money. "
            f"{reached_peak()} Days, dollars and energy follow from that number alike. 6 N D is good to a few per cent "
            "for wide models on short sequences; it leaves out attention's products, which grow with the length, and "
            "what counts as N decides the rest."
        )
        p.question(
            "DeepSeek-V3 has ten times the parameters of Llama 2 70B, but training costs half as much per token. Why?",
            "DeepSeek-V3 activates 37 B of its 671 B parameters per token, Llama 2 70B all 69 B, and 6 N D counts "
            "active parameters. Memory is another matter: all 671 B have to be stored.",
        )


@fragments.fragment
def planned(p: Panel) -> None:
    """A plan and what it costs."""
    left, right = st.columns([1, 3], gap="medium")
    with left:
        shown = views.cost(choose_plan())
    with right:
        p.show(shown)
        labels = ("Time", "Accelerator hours", "Money", "Energy")
        metrics(*((label, *values) for label, values in zip(labels, shown.result.numbers, strict=True)))


def choose_plan() -> Plan:
    """Choose a training: the model, its tokens and the hardware."""
    run = controls.select("Train", "run", list(RUN_NAMES), "Llama 3.1 405B", RUN_NAMES)
    if run == OWN:
        n = ten_to("Parameters N", "n", 6.0, 13.0, 10.0)
        d = ten_to("Tokens D", "d", 8.0, 14.0, 11.3)
    else:
        n, d = TRAINED[run]
    st.caption(f"{round_count(n)} parameters active per token, {round_count(d)} tokens.")
    given, more = st.container(), page.more_settings()
    with more if run == OWN else given:
        hardware = controls.select("Accelerator", "on", list(HARDWARE), "h100", HARDWARE_NAMES)
        count = controls.stops("How many", "count", COUNTS, 16384, {count: whole(count) for count in COUNTS})
    with more:
        mfu = controls.slider(
            "MFU, % of the peak", "mfu", 5, 70, 40, help="model FLOPs utilisation: 6 N D over peak and time"
        )
        price = controls.slider("Dollars per accelerator hour", "price", 0.1, 12.0, 2.0, 0.1, format="%.2f")
        pue = controls.slider("PUE", "pue", 1.0, 2.0, 1.2, 0.05, format="%.2f", help=PUE)
    return Plan(n=n, d=d, hardware=hardware, count=count, mfu=mfu / 100, price=price, pue=pue)


def assumptions() -> None:
    """The assumptions, and the shares of the peak that real runs reached."""
    with st.expander("Every assumption, and what real runs reached"):
        st.markdown(
            "Operations are 6 N D, peak speed is that of dense bfloat16 products, every accelerator draws its full "
            "power all the time, the price covers everything, and nothing fails or is run twice: experiments before "
            "the run often cost as much again. Of the IT equipment only the accelerators are counted, not hosts and "
            "network; times the PUE, that is the energy. Price and PUE are yours to set; the defaults are ours, not "
            "quotes."
        )
        st.dataframe(
            pd.DataFrame(
                [
                    {"accelerator": h.name, "peak, TFLOP/s": h.peak / 1e12, "W": h.watts, "source": h.source}
                    for h in HARDWARE.values()
                ]
            ),
            hide_index=True,
        )
        st.markdown("Hours that makers published, and the share of the peak that follows from them and 6 N D:")
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "run": r.name,
                        "N": round_count(r.n),
                        "D": round_count(r.d),
                        "on": HARDWARE[r.hardware].name,
                        "hours": r.numbers[0],
                        "share of the peak": r.numbers[1],
                        "source": r.source,
                    }
                    for r in RUNS
                ]
            ),
            hide_index=True,
        )


@fragments.fragment
def rule(p: Panel) -> None:
    """The count for a length of sequence."""
    st.subheader("How far off is 6 N D?", anchor=False)
    seq = 2 ** controls.slider("Sequence length: 2 to the power of", "seq", 7, 17, 11)
    p.show(views.rule({PRESET_NAMES[name]: name for name in COUNTED}, seq))
