"""Matrix of weights in GGUF's iq4_xs times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_iq4_xs = matvec("qmv_iq4_xs", gguf("iq4_xs"))
