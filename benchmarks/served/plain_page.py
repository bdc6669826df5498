"""A page with one chart. Streamlit runs this script for every visit."""

import plotly.graph_objects as go
import streamlit as st

st.title("A chart")
st.plotly_chart(go.Figure(go.Heatmap(z=[[1, 2], [3, 4]])))
