// kernel: kb2_033_gemm_scale_batch_norm.metal
