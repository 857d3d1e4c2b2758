"""What the figures of Part II and the side trips draw and say, a module a chapter."""
