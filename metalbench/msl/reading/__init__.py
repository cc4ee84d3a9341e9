"""Preprocessed MSL text to what it declares: tokens, declarations, kernels and their parameters."""
