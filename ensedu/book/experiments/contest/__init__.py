"""The contest: methods compared on many sets of data at once."""
