"""Matrix of weights in GGUF's q2_k times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q2_k = matvec("qmv_q2_k", gguf("q2_k"))
