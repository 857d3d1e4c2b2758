"""How a call with bad input must end."""

import pytest


def check_error(call, error, expected):
    """Fail unless a call raises this error, whose message names all that is expected."""
    with pytest.raises(error) as raised:
        call()
    for part in expected:
        assert part in str(raised.value)
