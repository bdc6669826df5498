"""What pyproject.toml cannot say: the app goes along with tfcore, in a folder of its own beside it, where its files lie
as they do here. `python -m tfcore app` finds it there; nothing imports it by that name."""

from setuptools import find_packages, setup

setup(
    script_name="setup.py",  # which is no part of a package
    packages=[*find_packages(include=["tfcore", "tfcore.*"]), "tfcore_app"],
    package_dir={"tfcore_app": "."},
)
