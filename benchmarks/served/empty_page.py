"""A page of one slider. Streamlit runs this script for every change."""

import streamlit as st

st.write(st.slider("number", 0, 20, key="number"))
