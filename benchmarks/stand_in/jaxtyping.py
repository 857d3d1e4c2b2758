"""What `ensedu` needs of jaxtyping where that is missing: names that check nothing.

Only `gpu.sh` puts this on the path. ``Float[Tensor, "M B m"]`` is ``Tensor``.
"""


class Annotation:
    """Any of jaxtyping's types of arrays."""

    def __class_getitem__(cls, item):
        return item[0]


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return Annotation
