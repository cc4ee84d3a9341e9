"""Matrix of 4-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv4 = matvec("qmv4", affine(4))
