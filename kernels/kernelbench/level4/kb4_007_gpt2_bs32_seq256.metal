// GPT-2: from token numbers to logits.
// Written by tools/language_kernels.py.
// Of a norm only mean and scale of each row are stored: the product behind it norms what it
// fetches. Blocks add to the tokens `h`; queries, keys and values are one product of which heads
// are slices.
// let: all_tokens = batch * tokens
// dispatch: embed(table = model_transformer_wte_weight, places = model_transformer_wpe_weight, to = h)  threads_in_grid=(ceil_div(dims, 4), all_tokens)  threads=(32, 1)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_0_ln_1_weight, norm_bias = model_transformer_h_0_ln_1_bias, weight = model_transformer_h_0_attn_c_attn_weight, bias = model_transformer_h_0_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_0_attn_c_proj_weight, bias = model_transformer_h_0_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_0_ln_2_weight, norm_bias = model_transformer_h_0_ln_2_bias, weight = model_transformer_h_0_mlp_c_fc_weight, bias = model_transformer_h_0_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_0_mlp_c_proj_weight, bias = model_transformer_h_0_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_1_ln_1_weight, norm_bias = model_transformer_h_1_ln_1_bias, weight = model_transformer_h_1_attn_c_attn_weight, bias = model_transformer_h_1_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_1_attn_c_proj_weight, bias = model_transformer_h_1_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_1_ln_2_weight, norm_bias = model_transformer_h_1_ln_2_bias, weight = model_transformer_h_1_mlp_c_fc_weight, bias = model_transformer_h_1_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_1_mlp_c_proj_weight, bias = model_transformer_h_1_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_2_ln_1_weight, norm_bias = model_transformer_h_2_ln_1_bias, weight = model_transformer_h_2_attn_c_attn_weight, bias = model_transformer_h_2_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_2_attn_c_proj_weight, bias = model_transformer_h_2_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_2_ln_2_weight, norm_bias = model_transformer_h_2_ln_2_bias, weight = model_transformer_h_2_mlp_c_fc_weight, bias = model_transformer_h_2_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_2_mlp_c_proj_weight, bias = model_transformer_h_2_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_3_ln_1_weight, norm_bias = model_transformer_h_3_ln_1_bias, weight = model_transformer_h_3_attn_c_attn_weight, bias = model_transformer_h_3_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_3_attn_c_proj_weight, bias = model_transformer_h_3_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_3_ln_2_weight, norm_bias = model_transformer_h_3_ln_2_bias, weight = model_transformer_h_3_mlp_c_fc_weight, bias = model_transformer_h_3_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_3_mlp_c_proj_weight, bias = model_transformer_h_3_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_4_ln_1_weight, norm_bias = model_transformer_h_4_ln_1_bias, weight = model_transformer_h_4_attn_c_attn_weight, bias = model_transformer_h_4_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_4_attn_c_proj_weight, bias = model_transformer_h_4_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_4_ln_2_weight, norm_bias = model_transformer_h_4_ln_2_bias, weight = model_transformer_h_4_mlp_c_fc_weight, bias = model_transformer_h_4_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_4_mlp_c_proj_weight, bias = model_transformer_h_4_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_5_ln_1_weight, norm_bias = model_transformer_h_5_ln_1_bias, weight = model_transformer_h_5_attn_c_attn_weight, bias = model_transformer_h_5_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_5_attn_c_proj_weight, bias = model_transformer_h_5_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_5_ln_2_weight, norm_bias = model_transformer_h_5_ln_2_bias, weight = model_transformer_h_5_mlp_c_fc_weight, bias = model_transformer_h_5_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_5_mlp_c_proj_weight, bias = model_transformer_h_5_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_6_ln_1_weight, norm_bias = model_transformer_h_6_ln_1_bias, weight = model_transformer_h_6_attn_c_attn_weight, bias = model_transformer_h_6_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_6_attn_c_proj_weight, bias = model_transformer_h_6_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_6_ln_2_weight, norm_bias = model_transformer_h_6_ln_2_bias, weight = model_transformer_h_6_mlp_c_fc_weight, bias = model_transformer_h_6_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_6_mlp_c_proj_weight, bias = model_transformer_h_6_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_7_ln_1_weight, norm_bias = model_transformer_h_7_ln_1_bias, weight = model_transformer_h_7_attn_c_attn_weight, bias = model_transformer_h_7_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_7_attn_c_proj_weight, bias = model_transformer_h_7_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_7_ln_2_weight, norm_bias = model_transformer_h_7_ln_2_bias, weight = model_transformer_h_7_mlp_c_fc_weight, bias = model_transformer_h_7_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_7_mlp_c_proj_weight, bias = model_transformer_h_7_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_8_ln_1_weight, norm_bias = model_transformer_h_8_ln_1_bias, weight = model_transformer_h_8_attn_c_attn_weight, bias = model_transformer_h_8_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_8_attn_c_proj_weight, bias = model_transformer_h_8_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_8_ln_2_weight, norm_bias = model_transformer_h_8_ln_2_bias, weight = model_transformer_h_8_mlp_c_fc_weight, bias = model_transformer_h_8_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_8_mlp_c_proj_weight, bias = model_transformer_h_8_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_9_ln_1_weight, norm_bias = model_transformer_h_9_ln_1_bias, weight = model_transformer_h_9_attn_c_attn_weight, bias = model_transformer_h_9_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_9_attn_c_proj_weight, bias = model_transformer_h_9_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_9_ln_2_weight, norm_bias = model_transformer_h_9_ln_2_bias, weight = model_transformer_h_9_mlp_c_fc_weight, bias = model_transformer_h_9_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_9_mlp_c_proj_weight, bias = model_transformer_h_9_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_10_ln_1_weight, norm_bias = model_transformer_h_10_ln_1_bias, weight = model_transformer_h_10_attn_c_attn_weight, bias = model_transformer_h_10_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_10_attn_c_proj_weight, bias = model_transformer_h_10_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_10_ln_2_weight, norm_bias = model_transformer_h_10_ln_2_bias, weight = model_transformer_h_10_mlp_c_fc_weight, bias = model_transformer_h_10_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_10_mlp_c_proj_weight, bias = model_transformer_h_10_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = h, norm_weight = model_transformer_h_11_ln_1_weight, norm_bias = model_transformer_h_11_ln_1_bias, weight = model_transformer_h_11_attn_c_attn_weight, bias = model_transformer_h_11_attn_c_attn_bias, to = wide, width = dims, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 12)  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto(from = attended, weight = model_transformer_h_11_attn_c_proj_weight, bias = model_transformer_h_11_attn_c_proj_bias, to = h, width = dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_gelu_tanh(from = h, norm_weight = model_transformer_h_11_ln_2_weight, norm_bias = model_transformer_h_11_ln_2_bias, weight = model_transformer_h_11_mlp_c_fc_weight, bias = model_transformer_h_11_mlp_c_fc_bias, to = wide, width = dims, features = 4 * dims)  threadgroups=(ceil_div(4 * dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_transformer_h_11_mlp_c_proj_weight, bias = model_transformer_h_11_mlp_c_proj_bias, to = h, width = 4 * dims, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = h, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_unbiased(from = h, norm_weight = model_transformer_ln_f_weight, norm_bias = model_transformer_ln_f_bias, weight = model_transformer_wte_weight, to = y, width = dims, features = vocab)  threadgroups=(ceil_div(vocab, BN), ceil_div(all_tokens, BM))  threads=(128)
// scratch: h float32 (all_tokens, dims)
// scratch: attended float32 (all_tokens, dims)
// scratch: wide float32 (all_tokens, 4 * dims)
// scratch: moments float32 (all_tokens, 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// tune: NORMS = 4, 1
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, NORMS = 1
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2, SG = 4, SPLITS = 2, AHEAD = 1
// limits: dims % 12 == 0, dims <= 12 * 64
#include "metalbench/language_models.h"

template [[host_name("embed")]] [[kernel]]
decltype(embed<0>) embed<0>;
template [[host_name("row_moments")]] [[kernel]]
decltype(row_moments<EpsOfTorch>) row_moments<EpsOfTorch>;
template [[host_name("normed_dense")]] [[kernel]]
decltype(normed_dense<ByInput, Identity>) normed_dense<ByInput, Identity>;
template [[host_name("attend")]] [[kernel]]
decltype(attend<64, true>) attend<64, true>;
template [[host_name("dense_onto")]] [[kernel]]
decltype(dense_onto<ByInput>) dense_onto<ByInput>;
template [[host_name("normed_dense_gelu_tanh")]] [[kernel]]
decltype(normed_dense<ByInput, GeluTanh>) normed_dense<ByInput, GeluTanh>;
template [[host_name("normed_dense_unbiased")]] [[kernel]]
decltype(normed_dense_unbiased<ByFeature>) normed_dense_unbiased<ByFeature>;
