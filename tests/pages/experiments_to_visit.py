"""Where the pages' experiments are: every page and panel with what it computes."""

VISITS = {
    "sinusoidal": ("foundations/positions.py", {}),
    "learned": ("foundations/positions.py", {"scheme": "learned"}),
    "rope": ("foundations/positions.py", {"scheme": "rope", "moved": "1000", "distance": "17"}),
    "alibi": ("foundations/positions.py", {"scheme": "alibi"}),
    "no positions": ("foundations/positions.py", {"scheme": "none"}),
    "all schemes": ("foundations/positions.py", {"scheme": "together"}),
    "heads": ("foundations/heads.py", {"text": "a \"quoted\"\n'text' \\ {x} \u202e", "layer": "1"}),
    "heads, mean": ("foundations/heads.py", {"of": "mean"}),
    "heads, rollout": ("foundations/heads.py", {"of": "rollout"}),
    "heads of a translator": ("foundations/heads.py", {"model": "translate"}),
    "heads compared": ("foundations/heads.py", {"show": "compare"}),
    "texts compared": ("foundations/heads.py", {"show": "compare", "with": "text"}),
    "heads cut": ("foundations/heads.py", {"show": "cuts", "n_heads": "4"}),
    "parameters": ("model/parameters.py", {}),
    "own parameters": ("model/parameters.py", {"model": "own"}),
}

# Pages that compute nothing.
WITHOUT: dict[str, str] = {}

# Programs whose numbers are never the same twice.
NOT_REPEATABLE: dict[str, str] = {}
