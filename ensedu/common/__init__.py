"""What every other part stands on, and what knows none of them: checks, arrays, tables as text."""
