"""What the figures of chapters draw and say, a module a chapter."""
