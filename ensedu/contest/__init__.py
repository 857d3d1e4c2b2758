"""Methods compared on data: tasks, contestants, tuning inside splits, and statistics."""
