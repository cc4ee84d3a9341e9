"""Matrix of weights in GGUF's q4_k times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q4_k = matvec("qmv_q4_k", gguf("q4_k"))
