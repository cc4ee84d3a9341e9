// kernel: rms_norm_qmv4.metal q8_g64
