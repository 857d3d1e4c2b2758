"""What can be computed instead of trained: tangent kernels, perturbations, conjugate posteriors."""
