"""Matrix of weights in GGUF's q6_k times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q6_k = matvec("qmv_q6_k", gguf("q6_k"))
