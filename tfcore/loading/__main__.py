"""`python -m tfcore.loading` fetches the real models that are not there yet; see real_models.py."""

import sys

from tfcore.loading.real_models import MODELS, FetchError, fetch, folder, is_complete


def main() -> None:
    """Fetch them. Without a network, one sentence, and the app runs without them."""
    if (root := folder()) is None:
        return
    for model in MODELS:
        if is_complete(model, root / model.name):
            continue
        sys.stdout.write(f"Fetching {model.name} into {root}, once\n")
        sys.stdout.flush()
        try:
            fetch(model, root)
        except FetchError as error:
            sys.stdout.write(f"{error}; the app runs with the models that ship, and asks again at the next start\n")


if __name__ == "__main__":
    main()
