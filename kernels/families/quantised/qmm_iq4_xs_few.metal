// kernel: qmm_q4_k_few.metal iq4_xs
