"""What the figures of chapters draw and say, a module a chapter, in the folder of its part."""
