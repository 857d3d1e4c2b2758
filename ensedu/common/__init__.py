"""What every other part stands on, and what knows none of them.

Checks of arguments and arrays, packages that are optional, and what a training loop of either
backend plans and writes down.
"""
