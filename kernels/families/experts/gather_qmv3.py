"""Tokens times the 3-bit matrices of their experts: what a mixture's layer is when decoding."""

from metalbench.formats.tasks import affine, gather_matvec

gather_qmv3 = gather_matvec("gather_qmv3", affine(3))
