"""Settings of the zoo: offline, and torchvision as the peers import it."""

import os

import tests.peers.conftest  # noqa: F401

os.environ["HF_HUB_OFFLINE"] = "1"
