"""Parse preprocessed MSL: tokens, declarations, kernels and their parameters."""

from __future__ import annotations


# Rewrite the MSL of one kernel to C++, by edits of the user's text that keep its lines.
