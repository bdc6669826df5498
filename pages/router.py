"""The one list of pages, by chapter. Streamlit runs this script on every visit and it runs the page asked for."""

import sys
from contextlib import nullcontext
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # Streamlit puts this file's folder on the path, not the repository's
    sys.path.insert(0, str(ROOT))

from pages.ui import embedding, links, notices, places, recent, streamlit_internals, tour  # noqa: E402  (needs the path above)
from pages.ui.server import first_figures, view_menu  # noqa: E402
from pages.ui.work import turns  # noqa: E402

NAME = "Inside the Transformer"
# chapter: (file beside this one, title, icon of the Material set, url path)
PAGES = {
    "Start": [
        ("start/home/page.py", "Home", "home", ""),
        ("start/walkthrough/page.py", "Walkthrough", "directions_walk", "walkthrough"),
    ],
    "Foundations": [
        ("foundations/tokens/page.py", "Tokens", "content_cut", "tokens"),
        ("foundations/recurrence/page.py", "Recurrence", "repeat", "recurrence"),
        ("foundations/attention/page.py", "Attention", "open_with", "attention"),
        ("foundations/heads/page.py", "Attention heads", "grid_on", "heads"),
        ("foundations/positions/page.py", "Positions", "airwave", "positions"),
        ("foundations/masks/page.py", "Masks", "filter_b_and_w", "masks"),
    ],
    "Block": [
        ("block/normalisation/page.py", "Normalisation", "straighten", "normalisation"),
        ("block/residuals/page.py", "Residual connections", "alt_route", "residuals"),
        ("block/feedforward/page.py", "Feed-forward", "memory", "feedforward"),
        ("block/pitfalls/page.py", "Pitfalls", "bug_report", "pitfalls"),
    ],
    "Model": [
        ("model/parameters/page.py", "Parameters", "donut_large", "parameters"),
        ("model/architectures/page.py", "Architectures", "account_tree", "architectures"),
        ("model/modern/page.py", "Modern blocks", "switch_left", "modern"),
        ("model/your_model/page.py", "Your model", "upload_file", "your-model"),
    ],
    "Training": [
        ("training/information/page.py", "Information", "equalizer", "information"),
        ("training/lab/page.py", "Lab", "model_training", "lab"),
        ("training/scaling/page.py", "Scaling", "trending_up", "scaling"),
        ("training/finetuning/page.py", "Fine-tuning", "tune", "finetuning"),
    ],
    "Inference": [
        ("inference/generation/page.py", "Generation", "casino", "generation"),
        ("inference/kv_cache/page.py", "KV cache", "inventory_2", "kv-cache"),
        ("inference/long_context/page.py", "Long context", "width_full", "long-context"),
        ("inference/quantisation/page.py", "Quantisation", "grid_4x4", "quantisation"),
    ],
    "Experts": [
        ("experts/routing/page.py", "Routing", "fork_right", "routing"),
        ("experts/balance/page.py", "Balance", "balance", "balance"),
    ],
    "Inside": [
        ("inside/flow/page.py", "Flow", "waves", "flow"),
        ("inside/induction/page.py", "Induction heads", "content_copy", "induction"),
        ("inside/in_context/page.py", "In-context learning", "list_alt", "in-context"),
        ("inside/features/page.py", "Features", "grain", "features"),
        ("inside/probing/page.py", "Probing", "linear_scale", "probing"),
        ("inside/circuits/page.py", "Circuits", "account_tree", "circuits"),
        ("inside/stream/page.py", "Residual stream", "water", "stream"),
        ("inside/interventions/page.py", "Interventions", "healing", "interventions"),
    ],
    "Reference": [
        ("reference/history/page.py", "History", "timeline", "history"),
        ("reference/folklore/page.py", "Folklore", "fact_check", "folklore"),
        ("reference/glossary/page.py", "Glossary", "menu_book", "glossary"),
        ("reference/check/page.py", "Check yourself", "quiz", "check"),
    ],
}


st.set_page_config(page_title=NAME, page_icon=str(ROOT / "assets" / "icon.svg"), layout="wide")
if not embedding.is_on():
    st.logo(str(ROOT / "assets" / "logo.svg"), size="large", icon_image=str(ROOT / "assets" / "icon.svg"))
st.html(streamlit_internals.STYLE)
places.announce(PAGES)
present = st.navigation(
    {chapter: [places.entry(*page) for page in pages] for chapter, pages in PAGES.items()},
    position="hidden" if embedding.is_on() else "sidebar",
)
first_figures.begin(present.url_path, asked=bool(st.query_params))
is_new = links.arrive(present.url_path)
recent.note(present.url_path, st.query_params.to_dict())
tour.bar(present.url_path)
embedding.begin()
with turns.opening() if is_new else nullcontext(), notices.whole_run():
    present.run()
    view_menu.tell()
