"""`python -m tfcore.loading` fetches the real models that are not there yet."""

from tfcore.loading.real_models import fetch_missing

if __name__ == "__main__":
    fetch_missing()
