// kernel: qmm_mxfp4_few.metal nvfp4
