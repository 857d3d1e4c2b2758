"""What *What is inside a fully connected layer?* says of its X-ray."""

CAPTION = (
    "Nearly all parameters of 1-50-50-1 lie between its two hidden layers, in the large square. "
    "Filled are weights, with a row for each input and a column for each output; framed are "
    "biases. Press a block to look into that layer."
)
ALT = (
    "A large gray square of 50 times 50 weights, with a thin gray row above it, a thin gray column "
    "beside it, and a thin frame for the biases below each. Beside them, 2,701 parameters."
)
