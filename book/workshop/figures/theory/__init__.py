"""What the figures of Part III draw and say, a module a chapter."""
