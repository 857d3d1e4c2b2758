"""What *What is inside a fully connected layer?* says of its X-ray."""

CAPTION = (
    "One network, 1-50-50-1, drawn to scale: equal areas are equally many parameters. Filled are "
    "weights, framed are biases. Nearly everything lies between the two hidden layers. Press a "
    "block to look into that layer."
)
ALT = (
    "A large gray square of 50 times 50 weights, with a thin gray row above it, a thin gray column "
    "beside it, and a thin frame for the biases below each. Beside them, 2,701 parameters."
)
