"""What *What is inside a BatchEnsemble?* says of its X-ray."""

CAPTION = (
    "Every member has a matrix of its own, made of the gray one. It stores only the column r, the "
    "row s and a bias; the dashed numbers are computed. Point at one of them to see what it is "
    "made of, or change a stored number."
)
ALT = (
    "A gray window of six by six weights, stored once. For each member a column of six numbers at "
    "the left, a row of six above and six biases below, in the color of BatchEnsemble; between "
    "them, in dashed frames, the weights of the gray window times the numbers of row and column."
)
