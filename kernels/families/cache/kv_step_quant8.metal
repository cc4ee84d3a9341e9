// kernel: kv_step_quant4.metal q8
