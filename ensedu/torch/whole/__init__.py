"""Turn a whole model into an ensemble, and compare its members with plain copies."""
