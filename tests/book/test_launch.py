"""Buttons that open a notebook elsewhere: none by default, and none that is dead."""

import re

import pytest
from sphinx.errors import ConfigError

from book._ext import launch

GITHUB = "https://github.com/owner/the-book"
GITLAB = "https://gitlab.com/owner/the-book"


def test_no_repository_no_options():
    assert launch.theme_options("", "") == {}


@pytest.mark.parametrize("address", [GITHUB, f"{GITHUB}/", f"{GITHUB}.git", f" {GITHUB}.git/ "])
def test_github_has_binder_and_colab(address):
    options = launch.theme_options(address, "")
    assert options["repository_url"] == GITHUB
    assert options["repository_branch"] == "main"
    assert options["use_repository_button"]
    assert options["launch_buttons"] == {
        "notebook_interface": "jupyterlab",
        "binderhub_url": "https://mybinder.org",
        "colab_url": "https://colab.research.google.com",
    }


def test_gitlab_has_binder_only():
    options = launch.theme_options(GITLAB, "edition-2")
    assert options["repository_branch"] == "edition-2"
    assert "binderhub_url" in options["launch_buttons"]
    assert "colab_url" not in options["launch_buttons"]


@pytest.mark.parametrize(
    "address",
    [
        "owner/the-book",
        "git@github.com:owner/the-book.git",
        "http://github.com/owner/the-book",
        "https://github.com/owner",
        "https://github.com/owner/the-book/tree/main",
        "https://example.org/owner/the-book",
        "https://github.com/owner/the book",
    ],
)
def test_an_address_that_no_button_could_open(address):
    with pytest.raises(ConfigError, match="accepted is https://github"):
        launch.theme_options(address, "")


def test_commands_name_the_repository_and_its_branch():
    steps = launch.how_to_run(launch.theme_options(GITHUB, "edition-2"))
    commands = [command for _, command in steps if command]
    assert commands == [
        f"git clone --branch edition-2 {GITHUB}.git\ncd the-book\nmake lab",
        f'%pip install "ensedu[torch,book] @ git+{GITHUB}.git@edition-2"',
    ]
    steps = launch.how_to_run(launch.theme_options(GITLAB, ""))
    assert not [command for _, command in steps if command and "%pip" in command]


def test_binder_installs_what_the_book_pins(root):
    """Every package that Binder is told to install has its version in requirements.txt."""
    lines = (root / ".binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert "--constraint ../requirements.txt" in lines
    pins = (root / "requirements.txt").read_text(encoding="utf-8")
    for line in lines:
        if re.match(r"[a-z]", line):
            assert re.search(rf"^{line}==", pins, flags=re.MULTILINE), line
    extras = next(line for line in lines if line.startswith(".["))
    assert extras == ".[torch,book]"
