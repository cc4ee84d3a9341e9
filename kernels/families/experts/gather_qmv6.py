"""Tokens times the 6-bit matrices of their experts: what a mixture's layer is when decoding."""

from metalbench.formats.tasks import affine, gather_matvec

gather_qmv6 = gather_matvec("gather_qmv6", affine(6))
