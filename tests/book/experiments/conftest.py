"""The command is tried on the toy experiment, too."""

from tests.book.running.conftest import toy_log as toy_log
