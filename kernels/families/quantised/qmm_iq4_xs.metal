// kernel: qmm_q4_k.metal iq4_xs
