// kernel: gather_qmv_mxfp4.metal mxfp8
