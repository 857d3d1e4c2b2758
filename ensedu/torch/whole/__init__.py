"""Any model becomes an ensemble: what has members, where they start, and how they run."""
