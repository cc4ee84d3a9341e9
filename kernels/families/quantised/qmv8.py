"""Matrix of 8-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv8 = matvec("qmv8", affine(8))
