"""Parse preprocessed MSL: tokens, declarations, kernels and their parameters."""
