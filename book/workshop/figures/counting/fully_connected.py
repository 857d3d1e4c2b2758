"""What *What is inside a fully connected layer?* says of its X-ray."""

CAPTION = (
    "1-50-50-1 has one input, two hidden layers of 50 units each, and one output. Nearly all of "
    "its parameters lie between the hidden layers, in the large square. Filled are weights, a row "
    "for each of a layer's m inputs and a column for each of its n outputs; framed are its n "
    "biases."
)
ALT = (
    "A large gray square of 50 times 50 weights, with a thin gray row above it, a thin gray column "
    "beside it, and a thin frame for the biases below each. Beside them, 2,701 parameters."
)
