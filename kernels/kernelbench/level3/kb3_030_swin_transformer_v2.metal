// Swin's second version. A block is eight dispatches: the bias of a distance between tokens is a small
// network; attention by cosines is one dispatch, whose windows take tokens where they lie, rolled if
// shifted (metalbench/window_attention.h); biases and gelu are part of how products are stored, and the
// norms behind add the residual (metalbench/layer_norms.h). Between stages four tokens become one
// (metalbench/swin_dispatches.h).
// let: across0 = side / 4
// let: across1 = side / 8
// let: across2 = side / 16
// let: across3 = side / 32
// let: rows0 = batch * across0 * across0
// let: rows1 = batch * across1 * across1
// let: rows2 = batch * across2 * across2
// let: rows3 = batch * across3 * across3
// let: channels0 = 3 * dims
// let: channels1 = 6 * dims
// let: channels2 = 12 * dims
// let: channels3 = 24 * dims
// dispatch: embed(weight = patch_embed_proj_weight, bias = patch_embed_proj_bias, to = first, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm(from = first, weight = patch_embed_norm_weight, bias = patch_embed_norm_bias, to = tokens, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_0_blocks_0_attn_cpb_mlp_0_weight, bias_0 = layers_0_blocks_0_attn_cpb_mlp_0_bias, weight_2 = layers_0_blocks_0_attn_cpb_mlp_2_weight, heads = 3)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_0_blocks_0_attn_qkv_weight, q_bias = layers_0_blocks_0_attn_q_bias, v_bias = layers_0_blocks_0_attn_v_bias, channels = channels0, rows = rows0)  threadgroups=(ceil_div(3 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_0_blocks_0_attn_logit_scale, across = across0, channels = channels0, shift = 0)  threadgroups=((across0 / 7) * (across0 / 7), 3, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_0_blocks_0_attn_proj_weight, bias = layers_0_blocks_0_attn_proj_bias, to = mixed, width = channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm_added(weight = layers_0_blocks_0_norm1_weight, bias = layers_0_blocks_0_norm1_bias, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_0_blocks_0_mlp_fc1_weight, bias = layers_0_blocks_0_mlp_fc1_bias, width = channels0, rows = rows0, features = 4 * channels0)  threadgroups=(ceil_div(4 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_0_blocks_0_mlp_fc2_weight, bias = layers_0_blocks_0_mlp_fc2_bias, to = mixed, width = 4 * channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm_added(weight = layers_0_blocks_0_norm2_weight, bias = layers_0_blocks_0_norm2_bias, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_0_blocks_1_attn_cpb_mlp_0_weight, bias_0 = layers_0_blocks_1_attn_cpb_mlp_0_bias, weight_2 = layers_0_blocks_1_attn_cpb_mlp_2_weight, heads = 3)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_0_blocks_1_attn_qkv_weight, q_bias = layers_0_blocks_1_attn_q_bias, v_bias = layers_0_blocks_1_attn_v_bias, channels = channels0, rows = rows0)  threadgroups=(ceil_div(3 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_0_blocks_1_attn_logit_scale, across = across0, channels = channels0, shift = 3)  threadgroups=((across0 / 7) * (across0 / 7), 3, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_0_blocks_1_attn_proj_weight, bias = layers_0_blocks_1_attn_proj_bias, to = mixed, width = channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm_added(weight = layers_0_blocks_1_norm1_weight, bias = layers_0_blocks_1_norm1_bias, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_0_blocks_1_mlp_fc1_weight, bias = layers_0_blocks_1_mlp_fc1_bias, width = channels0, rows = rows0, features = 4 * channels0)  threadgroups=(ceil_div(4 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_0_blocks_1_mlp_fc2_weight, bias = layers_0_blocks_1_mlp_fc2_bias, to = mixed, width = 4 * channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm_added(weight = layers_0_blocks_1_norm2_weight, bias = layers_0_blocks_1_norm2_bias, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: merge(from = tokens, to = merged, across = across0, channels = channels0)  threads_in_grid=(4 * ceil_div(channels0, 4), across1, batch * across1)  threads=(32)
// dispatch: reduce(weight = layers_0_downsample_reduction_weight, width = 4 * channels0, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: norm(from = first, weight = layers_0_downsample_norm_weight, bias = layers_0_downsample_norm_bias, to = tokens, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_1_blocks_0_attn_cpb_mlp_0_weight, bias_0 = layers_1_blocks_0_attn_cpb_mlp_0_bias, weight_2 = layers_1_blocks_0_attn_cpb_mlp_2_weight, heads = 6)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_1_blocks_0_attn_qkv_weight, q_bias = layers_1_blocks_0_attn_q_bias, v_bias = layers_1_blocks_0_attn_v_bias, channels = channels1, rows = rows1)  threadgroups=(ceil_div(3 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_1_blocks_0_attn_logit_scale, across = across1, channels = channels1, shift = 0)  threadgroups=((across1 / 7) * (across1 / 7), 6, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_1_blocks_0_attn_proj_weight, bias = layers_1_blocks_0_attn_proj_bias, to = mixed, width = channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: norm_added(weight = layers_1_blocks_0_norm1_weight, bias = layers_1_blocks_0_norm1_bias, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_1_blocks_0_mlp_fc1_weight, bias = layers_1_blocks_0_mlp_fc1_bias, width = channels1, rows = rows1, features = 4 * channels1)  threadgroups=(ceil_div(4 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_1_blocks_0_mlp_fc2_weight, bias = layers_1_blocks_0_mlp_fc2_bias, to = mixed, width = 4 * channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: norm_added(weight = layers_1_blocks_0_norm2_weight, bias = layers_1_blocks_0_norm2_bias, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_1_blocks_1_attn_cpb_mlp_0_weight, bias_0 = layers_1_blocks_1_attn_cpb_mlp_0_bias, weight_2 = layers_1_blocks_1_attn_cpb_mlp_2_weight, heads = 6)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_1_blocks_1_attn_qkv_weight, q_bias = layers_1_blocks_1_attn_q_bias, v_bias = layers_1_blocks_1_attn_v_bias, channels = channels1, rows = rows1)  threadgroups=(ceil_div(3 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_1_blocks_1_attn_logit_scale, across = across1, channels = channels1, shift = 3)  threadgroups=((across1 / 7) * (across1 / 7), 6, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_1_blocks_1_attn_proj_weight, bias = layers_1_blocks_1_attn_proj_bias, to = mixed, width = channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: norm_added(weight = layers_1_blocks_1_norm1_weight, bias = layers_1_blocks_1_norm1_bias, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_1_blocks_1_mlp_fc1_weight, bias = layers_1_blocks_1_mlp_fc1_bias, width = channels1, rows = rows1, features = 4 * channels1)  threadgroups=(ceil_div(4 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_1_blocks_1_mlp_fc2_weight, bias = layers_1_blocks_1_mlp_fc2_bias, to = mixed, width = 4 * channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: norm_added(weight = layers_1_blocks_1_norm2_weight, bias = layers_1_blocks_1_norm2_bias, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: merge(from = tokens, to = merged, across = across1, channels = channels1)  threads_in_grid=(4 * ceil_div(channels1, 4), across2, batch * across2)  threads=(32)
// dispatch: reduce(weight = layers_1_downsample_reduction_weight, width = 4 * channels1, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm(from = first, weight = layers_1_downsample_norm_weight, bias = layers_1_downsample_norm_bias, to = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_0_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_0_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_0_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_0_attn_qkv_weight, q_bias = layers_2_blocks_0_attn_q_bias, v_bias = layers_2_blocks_0_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_0_attn_logit_scale, across = across2, channels = channels2, shift = 0)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_0_attn_proj_weight, bias = layers_2_blocks_0_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_0_norm1_weight, bias = layers_2_blocks_0_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_0_mlp_fc1_weight, bias = layers_2_blocks_0_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_0_mlp_fc2_weight, bias = layers_2_blocks_0_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_0_norm2_weight, bias = layers_2_blocks_0_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_1_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_1_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_1_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_1_attn_qkv_weight, q_bias = layers_2_blocks_1_attn_q_bias, v_bias = layers_2_blocks_1_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_1_attn_logit_scale, across = across2, channels = channels2, shift = 3)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_1_attn_proj_weight, bias = layers_2_blocks_1_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_1_norm1_weight, bias = layers_2_blocks_1_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_1_mlp_fc1_weight, bias = layers_2_blocks_1_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_1_mlp_fc2_weight, bias = layers_2_blocks_1_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_1_norm2_weight, bias = layers_2_blocks_1_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_2_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_2_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_2_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_2_attn_qkv_weight, q_bias = layers_2_blocks_2_attn_q_bias, v_bias = layers_2_blocks_2_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_2_attn_logit_scale, across = across2, channels = channels2, shift = 0)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_2_attn_proj_weight, bias = layers_2_blocks_2_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_2_norm1_weight, bias = layers_2_blocks_2_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_2_mlp_fc1_weight, bias = layers_2_blocks_2_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_2_mlp_fc2_weight, bias = layers_2_blocks_2_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_2_norm2_weight, bias = layers_2_blocks_2_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_3_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_3_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_3_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_3_attn_qkv_weight, q_bias = layers_2_blocks_3_attn_q_bias, v_bias = layers_2_blocks_3_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_3_attn_logit_scale, across = across2, channels = channels2, shift = 3)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_3_attn_proj_weight, bias = layers_2_blocks_3_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_3_norm1_weight, bias = layers_2_blocks_3_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_3_mlp_fc1_weight, bias = layers_2_blocks_3_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_3_mlp_fc2_weight, bias = layers_2_blocks_3_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_3_norm2_weight, bias = layers_2_blocks_3_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_4_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_4_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_4_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_4_attn_qkv_weight, q_bias = layers_2_blocks_4_attn_q_bias, v_bias = layers_2_blocks_4_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_4_attn_logit_scale, across = across2, channels = channels2, shift = 0)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_4_attn_proj_weight, bias = layers_2_blocks_4_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_4_norm1_weight, bias = layers_2_blocks_4_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_4_mlp_fc1_weight, bias = layers_2_blocks_4_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_4_mlp_fc2_weight, bias = layers_2_blocks_4_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_4_norm2_weight, bias = layers_2_blocks_4_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_2_blocks_5_attn_cpb_mlp_0_weight, bias_0 = layers_2_blocks_5_attn_cpb_mlp_0_bias, weight_2 = layers_2_blocks_5_attn_cpb_mlp_2_weight, heads = 12)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_2_blocks_5_attn_qkv_weight, q_bias = layers_2_blocks_5_attn_q_bias, v_bias = layers_2_blocks_5_attn_v_bias, channels = channels2, rows = rows2)  threadgroups=(ceil_div(3 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_2_blocks_5_attn_logit_scale, across = across2, channels = channels2, shift = 3)  threadgroups=((across2 / 7) * (across2 / 7), 12, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_2_blocks_5_attn_proj_weight, bias = layers_2_blocks_5_attn_proj_bias, to = mixed, width = channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_5_norm1_weight, bias = layers_2_blocks_5_norm1_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_2_blocks_5_mlp_fc1_weight, bias = layers_2_blocks_5_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_2_blocks_5_mlp_fc2_weight, bias = layers_2_blocks_5_mlp_fc2_bias, to = mixed, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: norm_added(weight = layers_2_blocks_5_norm2_weight, bias = layers_2_blocks_5_norm2_bias, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: merge(from = tokens, to = merged, across = across2, channels = channels2)  threads_in_grid=(4 * ceil_div(channels2, 4), across3, batch * across3)  threads=(32)
// dispatch: reduce(weight = layers_2_downsample_reduction_weight, width = 4 * channels2, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm(from = first, weight = layers_2_downsample_norm_weight, bias = layers_2_downsample_norm_bias, to = tokens, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_3_blocks_0_attn_cpb_mlp_0_weight, bias_0 = layers_3_blocks_0_attn_cpb_mlp_0_bias, weight_2 = layers_3_blocks_0_attn_cpb_mlp_2_weight, heads = 24)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_3_blocks_0_attn_qkv_weight, q_bias = layers_3_blocks_0_attn_q_bias, v_bias = layers_3_blocks_0_attn_v_bias, channels = channels3, rows = rows3)  threadgroups=(ceil_div(3 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_3_blocks_0_attn_logit_scale, across = across3, channels = channels3, shift = 0)  threadgroups=((across3 / 7) * (across3 / 7), 24, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_3_blocks_0_attn_proj_weight, bias = layers_3_blocks_0_attn_proj_bias, to = mixed, width = channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm_added(weight = layers_3_blocks_0_norm1_weight, bias = layers_3_blocks_0_norm1_bias, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_3_blocks_0_mlp_fc1_weight, bias = layers_3_blocks_0_mlp_fc1_bias, width = channels3, rows = rows3, features = 4 * channels3)  threadgroups=(ceil_div(4 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_3_blocks_0_mlp_fc2_weight, bias = layers_3_blocks_0_mlp_fc2_bias, to = mixed, width = 4 * channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm_added(weight = layers_3_blocks_0_norm2_weight, bias = layers_3_blocks_0_norm2_bias, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: relate(weight_0 = layers_3_blocks_1_attn_cpb_mlp_0_weight, bias_0 = layers_3_blocks_1_attn_cpb_mlp_0_bias, weight_2 = layers_3_blocks_1_attn_cpb_mlp_2_weight, heads = 24)  threadgroups=(169)  threads=(32)
// dispatch: project(weight = layers_3_blocks_1_attn_qkv_weight, q_bias = layers_3_blocks_1_attn_q_bias, v_bias = layers_3_blocks_1_attn_v_bias, channels = channels3, rows = rows3)  threadgroups=(ceil_div(3 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: attend(logit_scale = layers_3_blocks_1_attn_logit_scale, across = across3, channels = channels3, shift = 0)  threadgroups=((across3 / 7) * (across3 / 7), 24, batch)  threads=(64)
// dispatch: linear(from = attended, weight = layers_3_blocks_1_attn_proj_weight, bias = layers_3_blocks_1_attn_proj_bias, to = mixed, width = channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm_added(weight = layers_3_blocks_1_norm1_weight, bias = layers_3_blocks_1_norm1_bias, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: raise(weight = layers_3_blocks_1_mlp_fc1_weight, bias = layers_3_blocks_1_mlp_fc1_bias, width = channels3, rows = rows3, features = 4 * channels3)  threadgroups=(ceil_div(4 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: linear(from = lifted, weight = layers_3_blocks_1_mlp_fc2_weight, bias = layers_3_blocks_1_mlp_fc2_bias, to = mixed, width = 4 * channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm_added(weight = layers_3_blocks_1_norm2_weight, bias = layers_3_blocks_1_norm2_bias, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: norm(from = tokens, weight = norm_weight, bias = norm_bias, to = first, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: average(from = first, across = across3, channels = channels3)  threadgroups=(ceil_div(ceil_div(channels3, 4), QUADS), batch)  threads=(QUADS, DOWN)
// dispatch: answer(channels = channels3)  threadgroups=(classes, batch)  threads=(32)
// scratch: first float32 (rows0, channels0)
// scratch: tokens float32 (rows0, channels0)
// scratch: mixed float32 (rows0, channels0)
// scratch: merged float32 (rows0, channels0)
// scratch: lifted float32 (rows0, 4 * channels0)
// scratch: qkv float32 (rows0, 3 * channels0)
// scratch: attended float32 (rows0, channels0)
// scratch: distances float32 (24, 169)
// scratch: means float32 (batch, channels3)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: NORMS = 4, 1
// tune: QUADS = 8, 4
// tune: DOWN = 16, 8
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, NORMS = 1, QUADS = 4, DOWN = 8
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: side % 224 == 0, dims <= 32
#include "metalbench/activations.h"
#include "metalbench/swin_dispatches.h"
#include "metalbench/window_attention.h"

[[kernel]] void relate(device const float* weight_0, device const float* bias_0,
                       device const float* weight_2, device float* distances,
                       constant uint& heads, uint place [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  store_distances(weight_0, bias_0, weight_2, distances, heads, place, lane);
}

// A map (epilogues.h): biases of queries and values; keys have none.
struct QueryValueBias {
  device const float* q;
  device const float* v;
  uint channels;
  float4 operator()(float4 sums, uint, uint column) const {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint at = column + i;
      if (at < channels) {
        sums[i] += q[at];
      } else if (at >= 2 * channels && at < 3 * channels) {
        sums[i] += v[at - 2 * channels];
      }
    }
    return sums;
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project(
    device const float* tokens, device const float* weight, device const float* q_bias,
    device const float* v_bias, device float* qkv, constant uint& rows, constant uint& channels,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {tokens, weight, rows, channels, 3 * channels};
  layer.store(qkv, QueryValueBias{q_bias, v_bias, channels}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(64)]] void attend(
    device const float* qkv, device const float* logit_scale, device const float* distances,
    device float* attended, constant uint& across, constant uint& channels, constant uint& dims,
    constant uint& shift, uint3 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup CosineMemory memory;
  const uint head = group.y;
  const float scale = precise::exp(min(logit_scale[head], 4.60517019f));
  const RolledWindow window = {across, shift, group.x, group.z};
  attend_window(qkv + head * dims, attended + head * dims, distances + head * 169, window, channels,
                dims, scale, thread_index, memory);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void raise(
    device const float* tokens, device const float* weight, device const float* bias,
    device float* lifted, constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {tokens, weight, rows, width, features};
  layer.store(lifted, BiasedThen<float, Gelu>{{bias, features}}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void reduce(
    device const float* merged, device const float* weight, device float* first,
    constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {merged, weight, rows, width, features};
  layer.store(first, AsItIs(), tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void norm_added(
    device const float* mixed, device const float* weight, device const float* bias,
    device float* tokens, constant uint& rows, constant uint& width,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < rows) {
    add_norm_row(mixed, weight, bias, tokens, row, width, 1e-5f, memory, lane);
  }
}
