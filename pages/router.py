"""The script that Streamlit runs on every visit: it says which pages there are, and runs the one asked for."""

import sys
from contextlib import nullcontext
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # Streamlit puts this file's folder on the path, not the repository's
    sys.path.insert(0, str(ROOT))

from pages import facts  # noqa: E402  (needs the path above)
from pages.ui import embedding, lesson_card, links, notices, places, recent, shortcuts, streamlit_internals  # noqa: E402
from pages.ui.server import first_figures, view_menu  # noqa: E402
from pages.ui.work import turns  # noqa: E402

st.set_page_config(page_title=facts.NAME, page_icon=str(ROOT / "assets" / "icon.svg"), layout="wide")
if not embedding.is_on():
    st.logo(str(ROOT / "assets" / "logo.svg"), size="large", icon_image=str(ROOT / "assets" / "icon.svg"))
st.html(streamlit_internals.STYLE)
present = st.navigation(
    {chapter.title: [places.entry(page) for page in facts.pages_of(chapter.folder)] for chapter in facts.CHAPTERS},
    position="hidden" if embedding.is_on() else "sidebar",
)
shortcuts.go()
first_figures.begin(present.url_path, asked=bool(st.query_params))
is_new = links.arrive(present.url_path)
recent.note(present.url_path, st.query_params.to_dict())
lesson_card.show(present.url_path)
shortcuts.begin(present.url_path)
embedding.begin()
with turns.opening() if is_new else nullcontext(), notices.whole_run():
    try:
        present.run()
        view_menu.tell()
        lesson_card.answer()
    except streamlit_internals.stopped():  # a page that ends early has a foot, too
        lesson_card.answer()
        shortcuts.foot(present.url_path)
        raise
    shortcuts.foot(present.url_path)
