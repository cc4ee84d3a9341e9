"""Tokens times the 8-bit matrices of their experts: what a mixture's layer is when decoding."""

from metalbench.formats.tasks import affine, gather_matvec

gather_qmv8 = gather_matvec("gather_qmv8", affine(8))
