"""The command is tried on the toy experiment, too."""

from tests.contest.running.conftest import toy_log as toy_log
