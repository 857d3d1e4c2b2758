"""The command is tried on the toy experiment, too."""

from tests.running.conftest import toy_log as toy_log
