"""Numbers of in-context learning: tasks, answers, heads, and what was measured once."""
