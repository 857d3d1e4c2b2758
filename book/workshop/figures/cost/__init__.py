"""What the figures of Part IV draw and say, a module a chapter."""
