"""What several experiments use: a recorder of a training, and comparisons over splits."""
