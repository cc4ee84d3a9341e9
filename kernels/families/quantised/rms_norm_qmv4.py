"""Norm of a vector, then a matrix of 4-bit weights: what begins every block when decoding."""

from metalbench.formats.tasks import affine, rms_norm_matvec

rms_norm_qmv4 = rms_norm_matvec("rms_norm_qmv4", affine(4))
