"""Train and predict: batches, the training loop, checkpoints."""
