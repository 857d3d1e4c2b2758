"""What several experiments use: a recorder, comparisons over splits, the best of several tries."""
