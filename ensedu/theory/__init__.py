"""What can be computed instead of trained.

`ntk` has tangent kernels and their limits, `perturbations` those of a weight matrix, `conjugate` an
exact posterior, `pruning` masks of weights.
"""
