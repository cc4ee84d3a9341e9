"""Tokens times the 4-bit matrices of their experts: what a mixture's layer is when decoding."""

from metalbench.formats.tasks import affine, gather_matvec

gather_qmv4 = gather_matvec("gather_qmv4", affine(4))
