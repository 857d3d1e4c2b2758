"""What the figures of Part I draw and say, a module a chapter."""
