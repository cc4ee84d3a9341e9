// kernel: gather_qmv_mxfp4.metal nvfp4
