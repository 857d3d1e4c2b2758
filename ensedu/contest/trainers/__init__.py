"""How contestants are trained: this book's networks, others' methods, and what is no network."""
