"""Train and predict: losses, the training loop, checkpoints."""
