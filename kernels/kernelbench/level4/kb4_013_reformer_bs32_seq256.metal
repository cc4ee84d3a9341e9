// Reformer of characters, of sequences that need no hashes: from token numbers to logits.
// Written by tools/language_kernels.py.
// Layers are reversible: attention of the half `x2` adds to `x1`, and a network of `x1` to `x2`.
// Of a norm only mean and scale of each row are stored: the product behind it norms what it
// fetches. Where queries are keys, the norm of a key is a factor of its scores, and a token sees
// itself only if it sees nothing else.
// let: all_tokens = batch * tokens
// dispatch: embed_axial(table = model_reformer_embeddings_word_embeddings_weight, lines = model_reformer_embeddings_position_embeddings_weights_0, places = model_reformer_embeddings_position_embeddings_weights_1, to = x1, twin = x2)  threads_in_grid=(ceil_div(dims, 4), all_tokens)  threads=(32, 1)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_0_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_0_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_0_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_0_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_0_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_0_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_0_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_0_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_0_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_0_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_0_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_0_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_1_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_1_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_1_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_1_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_1_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_1_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_1_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_1_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_1_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_1_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_1_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_1_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_shared(from = x2, norm_weight = model_reformer_encoder_layers_2_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_2_attention_layer_norm_bias, qk_weight = model_reformer_encoder_layers_2_attention_self_attention_query_key_weight, v_weight = model_reformer_encoder_layers_2_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(2 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: key_scales(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(tokens, batch)  threads=(32 * 8)
// dispatch: attend_shared(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_2_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_2_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_2_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_2_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_2_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_2_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_2_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_3_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_3_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_3_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_3_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_3_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_3_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_3_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_3_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_3_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_3_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_3_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_3_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_4_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_4_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_4_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_4_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_4_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_4_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_4_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_4_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_4_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_4_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_4_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_4_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_5_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_5_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_5_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_5_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_5_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_5_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_5_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_5_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_5_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_5_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_5_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_5_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_shared(from = x2, norm_weight = model_reformer_encoder_layers_6_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_6_attention_layer_norm_bias, qk_weight = model_reformer_encoder_layers_6_attention_self_attention_query_key_weight, v_weight = model_reformer_encoder_layers_6_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(2 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: key_scales(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(tokens, batch)  threads=(32 * 8)
// dispatch: attend_shared(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_6_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_6_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_6_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_6_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_6_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_6_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_6_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_7_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_7_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_7_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_7_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_7_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_7_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_7_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_7_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_7_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_7_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_7_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_7_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_8_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_8_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_8_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_8_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_8_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_8_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_8_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_8_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_8_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_8_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_8_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_8_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_9_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_9_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_9_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_9_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_9_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_9_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_9_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_9_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_9_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_9_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_9_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_9_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_shared(from = x2, norm_weight = model_reformer_encoder_layers_10_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_10_attention_layer_norm_bias, qk_weight = model_reformer_encoder_layers_10_attention_self_attention_query_key_weight, v_weight = model_reformer_encoder_layers_10_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(2 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: key_scales(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(tokens, batch)  threads=(32 * 8)
// dispatch: attend_shared(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_10_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_10_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_10_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_10_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_10_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_10_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_10_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x2, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_project_unbiased(from = x2, norm_weight = model_reformer_encoder_layers_11_attention_layer_norm_weight, norm_bias = model_reformer_encoder_layers_11_attention_layer_norm_bias, q_weight = model_reformer_encoder_layers_11_attention_self_attention_query_weight, k_weight = model_reformer_encoder_layers_11_attention_self_attention_key_weight, v_weight = model_reformer_encoder_layers_11_attention_self_attention_value_weight, qkv = wide, width = dims, features = 8 * head)  threadgroups=(3 * ceil_div(8 * head, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: attend(qkv = wide, heads = 8, dims = 8 * head)  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: dense_onto_unbiased(from = attended, weight = model_reformer_encoder_layers_11_attention_output_dense_weight, to = x1, width = 8 * head, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: row_moments(from = x1, width = dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense_relu(from = x1, norm_weight = model_reformer_encoder_layers_11_feed_forward_layer_norm_weight, norm_bias = model_reformer_encoder_layers_11_feed_forward_layer_norm_bias, weight = model_reformer_encoder_layers_11_feed_forward_dense_dense_weight, bias = model_reformer_encoder_layers_11_feed_forward_dense_dense_bias, to = wide, width = dims, features = hidden)  threadgroups=(ceil_div(hidden, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: dense_onto(from = wide, weight = model_reformer_encoder_layers_11_feed_forward_output_dense_weight, bias = model_reformer_encoder_layers_11_feed_forward_output_dense_bias, to = x2, width = hidden, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(all_tokens, BM))  threads=(128)
// dispatch: join_halves(first = x1, second = x2, to = wide, width = dims)  threads_in_grid=(ceil_div(dims, 4), all_tokens)  threads=(32, 1)
// dispatch: row_moments(from = wide, width = 2 * dims)  threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
// dispatch: normed_dense(from = wide, norm_weight = model_reformer_encoder_layer_norm_weight, norm_bias = model_reformer_encoder_layer_norm_bias, weight = model_lm_head_decoder_weight, bias = model_lm_head_decoder_bias, to = y, width = 2 * dims, features = vocab)  threadgroups=(ceil_div(vocab, BN), ceil_div(all_tokens, BM))  threads=(128)
// scratch: x1 float32 (all_tokens, dims)
// scratch: x2 float32 (all_tokens, dims)
// scratch: wide float32 (all_tokens, max(24 * head, max(hidden, 2 * dims)))
// scratch: moments float32 (all_tokens, 2)
// scratch: attended float32 (all_tokens, 8 * head)
// scratch: scales float32 (8, all_tokens)
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
// limits: dims % 4 == 0, head <= 128
#include "metalbench/language_models.h"

template [[host_name("embed_axial")]] [[kernel]]
decltype(embed_axial<4>) embed_axial<4>;
template [[host_name("row_moments")]] [[kernel]]
decltype(row_moments<EpsOfBert>) row_moments<EpsOfBert>;
template [[host_name("normed_project_unbiased")]] [[kernel]]
decltype(normed_project_unbiased<ByFeature>) normed_project_unbiased<ByFeature>;
template [[host_name("attend")]] [[kernel]]
decltype(attend<128, true>) attend<128, true>;
template [[host_name("dense_onto_unbiased")]] [[kernel]]
decltype(dense_onto_unbiased<ByFeature>) dense_onto_unbiased<ByFeature>;
template [[host_name("normed_dense_relu")]] [[kernel]]
decltype(normed_dense<ByFeature, Relu>) normed_dense<ByFeature, Relu>;
template [[host_name("dense_onto")]] [[kernel]]
decltype(dense_onto<ByFeature>) dense_onto<ByFeature>;
template [[host_name("normed_project_shared")]] [[kernel]]
decltype(normed_project_shared<ByFeature>) normed_project_shared<ByFeature>;
template [[host_name("key_scales")]] [[kernel]]
decltype(key_scales<EpsOfKeys>) key_scales<EpsOfKeys>;
template [[host_name("attend_shared")]] [[kernel]]
decltype(attend_shared<128>) attend_shared<128>;
template [[host_name("join_halves")]] [[kernel]]
decltype(join_halves<float>) join_halves<float>;
template [[host_name("normed_dense")]] [[kernel]]
decltype(normed_dense<ByFeature, Identity>) normed_dense<ByFeature, Identity>;
