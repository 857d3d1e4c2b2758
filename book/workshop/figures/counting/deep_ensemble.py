"""What *What is inside a deep ensemble?* says of its X-ray."""

CAPTION = (
    "Four members of 1-50-50-1 as a deep ensemble: each stores all matrices and all biases, and "
    "nothing is stored once for all. Equal areas are equally many parameters."
)
ALT = (
    "Four equal groups side by side, all in the color of the deep ensemble: a large square of "
    "weights, a thin row, a thin column, and frames for the biases. The place for what is stored "
    "once is empty. Beside them, 10,804 parameters."
)
