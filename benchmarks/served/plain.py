"""What the first figure is compared with: Streamlit's own server, and a page with one chart."""

from pathlib import Path

import streamlit as st

app = st.App(Path(__file__).with_name("plain_page.py"))
