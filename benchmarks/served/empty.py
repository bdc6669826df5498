"""What every page is compared with: Streamlit's own server, and a page of one slider that shows its number."""

from pathlib import Path

import streamlit as st

app = st.App(Path(__file__).with_name("empty_page.py"))
