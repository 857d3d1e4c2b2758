"""A reader's own table: read, planned for, compared on, and reported."""
