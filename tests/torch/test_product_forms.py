"""Scale and fold, against one product a member."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.torch.product_cases import FORMS, arguments, by_member, call, gradients, tensors_of

sizes = st.integers(1, 6)


@given(M=sizes, B=sizes, m=sizes, n=sizes, broadcast=st.booleans(), bias=st.booleans())
def test_every_form_is_the_definition_in_value_and_gradient(M, B, m, n, broadcast, bias):
    values = arguments(M, B, m, n, broadcast, bias)
    expected = by_member(*values)
    slopes = gradients(expected, tensors_of(values))
    for form in FORMS:
        y = call(form, *values)
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
        for mine, slope in zip(gradients(y, tensors_of(values)), slopes, strict=True):
            torch.testing.assert_close(mine, slope, rtol=0, atol=1e-11)
