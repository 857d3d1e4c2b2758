"""Buttons that open a notebook elsewhere, if the publisher names a repository.

`BOOK_REPOSITORY` is its address, `BOOK_BRANCH` its branch, `main` if not set.
Without it the pages have no button, and so none that is dead.
"""

import os
import re

from docutils import nodes
from sphinx.errors import ConfigError

# Binder can fetch from both, Colab from GitHub only.
SERVICES = {
    "github.com": {
        "binderhub_url": "https://mybinder.org",
        "colab_url": "https://colab.research.google.com",
    },
    "gitlab.com": {"binderhub_url": "https://mybinder.org"},
}
SECTION = "run-the-notebooks"


def theme_options(repository, branch):
    """Return the theme's options for this repository: none if it is empty."""
    if not repository:
        return {}
    host, path = split(repository)
    return {
        "repository_url": f"https://{host}/{path}",
        "repository_branch": branch or "main",
        "use_repository_button": True,
        "launch_buttons": {"notebook_interface": "jupyterlab", **SERVICES[host]},
    }


def split(repository):
    """Return the host and the path of a repository's address."""
    address = repository.strip().rstrip("/").removesuffix(".git")
    match = re.fullmatch(r"https://([^/]+)/([\w.-]+/[\w.-]+)", address)
    if not match or match[1] not in SERVICES:
        accepted = " or ".join(f"https://{host}/OWNER/NAME" for host in SERVICES)
        raise ConfigError(f"BOOK_REPOSITORY is {repository!r}, accepted is {accepted}")
    return match[1], match[2]


def how_to_run(options):
    """Return paragraphs and commands that run the notebooks of this book."""
    repository = options["repository_url"]
    branch = options["repository_branch"]
    folder = repository.rsplit("/", 1)[1]
    source = f"git+{repository}.git@{branch}"
    steps = [
        (
            "On your own machine, in JupyterLab:",
            f"git clone --branch {branch} {repository}.git\ncd {folder}\nmake lab",
        ),
        (
            "On Binder there is nothing to install: the button at the top of a "
            "chapter starts it, which takes some minutes the first time.",
            None,
        ),
    ]
    if "colab_url" in options["launch_buttons"]:
        steps.append(
            (
                "On Colab the package is missing. Open a chapter with the "
                "button at its top, and run this in a new first cell:",
                f'%pip install "ensedu[torch] @ {source}" '
                f'"ensedu-workshop @ {source}#subdirectory=book"',
            )
        )
    return steps


def name_repository(app, config):
    """Give the theme its options, before it reads them."""
    config.html_theme_options |= theme_options(
        os.environ.get("BOOK_REPOSITORY", ""), os.environ.get("BOOK_BRANCH", "")
    )


def say_how_to_run(app, doctree, docname):
    """End the introduction with what the buttons cannot say."""
    options = app.config.html_theme_options
    if docname != app.config.root_doc or "repository_url" not in options:
        return
    section = nodes.section(ids=[SECTION], names=[SECTION])
    section += nodes.title("", "Run the notebooks")
    for words, command in how_to_run(options):
        section += nodes.paragraph("", words)
        if command:
            section += nodes.literal_block(command, command, language="none")
    next(doctree.findall(nodes.section)).append(section)


def link_how_to_run(app, pagename, templatename, context, doctree):
    """Put a link to that section under the buttons."""
    # On the introduction itself, `pathto` says "#".
    page = context["pathto"](app.config.root_doc).rstrip("#")
    button = {
        "type": "link",
        "text": "What to install",
        "tooltip": "What Colab and your own machine need first",
        "icon": "fas fa-circle-info",
        "url": f"{page}#{SECTION}",
    }
    for group in context.get("header_buttons", ()):
        if group.get("label") == "launch-buttons":
            group["buttons"].append(button)


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", name_repository)
    app.connect("doctree-resolved", say_how_to_run)
    app.connect("html-page-context", link_how_to_run, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
