"""The language models of KernelBench's level 4, from token numbers to logits.

They are the models of Hugging Face's `transformers` with these names, as they are published: in
evaluation mode, without a cache. Dimensions of the configurations are sizes of the tasks; numbers
of layers and heads are fixed. Weights are random. Parameters have the names of the module's state,
without those that it does not use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from metalbench.kernelbench.problems.layers import Layers
from metalbench.kernelbench.problems.models import heads_of, merge_heads
from metalbench.kernelbench.problems.parameters import Initial, Values, constant, randn

# Deviation of weights, the `initializer_range` of all configurations.
DEVIATION = 0.02
# The eps of layer norms in BERT's descendants.
BERT_EPS = 1e-12


def weights(fan_in: int) -> Initial:
    """Normal with deviation 0.02; wide: so that a product keeps the variance of its input."""

    def wide(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
        return np.asarray(random.normal(0, 1 / math.sqrt(fan_in), shape), np.float32)

    return Initial(f"normal(0, {DEVIATION})", randn(DEVIATION).draw, wide)


def dense(nn: Layers, x: Any, name: str, features: int, *, bias: bool = True) -> Any:
    """Return a linear layer with a weight of (features, of x)."""
    inner = x.shape[-1]
    w = nn.parameter(f"{name}.weight", (features, inner), weights(inner))
    y = nn.matmul(x, nn.swapped(w))
    return y + nn.parameter(f"{name}.bias", (features,), constant(0)) if bias else y


def embedding(nn: Layers, name: str, rows: int, dims: int) -> Any:
    """Return a table with a row for each token or position."""
    return nn.parameter(f"{name}.weight", (rows, dims), weights(1))


def attend(nn: Layers, q: Any, k: Any, v: Any, mask: Any, *, scale: float) -> Any:
    """Return softmax(scale q k^T + mask) v of (batch, tokens, dims), with the heads merged."""
    scores = nn.matmul(q * scale, nn.swapped(k))
    if mask is not None:
        scores = scores + mask
    return merge_heads(nn, nn.matmul(nn.softmax(scores, -1), v))


def causal(nn: Layers, tokens: int, window: int | None = None) -> Any:
    """Return a mask with minus infinity for later tokens, and for those before a window."""
    seen = np.tril(np.ones((tokens, tokens)))
    if window is not None:
        seen -= np.tril(seen, -window)
    return nn.given(np.where(seen > 0, 0.0, -np.inf))


def _self_attention(
    nn: Layers, x: Any, names: tuple[str, str, str, str], heads: int, mask: Any, **how: Any
) -> Any:
    """Return attention with the projections `names`: of queries, keys, values and results."""
    dims, scale = x.shape[-1], how.pop("scale", 1 / math.sqrt(x.shape[-1] // heads))
    q, k, v = (heads_of(nn, dense(nn, x, name, dims, **how), heads) for name in names[:3])
    return dense(nn, attend(nn, q, k, v, mask, scale=scale), names[3], dims)


def gpt2(nn: Layers, x: Any, layers: int = 12, heads: int = 12) -> Any:
    """GPT-2: norms before attention and network, GELU by tanh, weights of (of x, features)."""
    tokens, dims = x.shape[-1], nn.dims

    def conv1d(y: Any, name: str, features: int) -> Any:
        w = nn.parameter(f"{name}.weight", (y.shape[-1], features), weights(y.shape[-1]))
        return nn.matmul(y, w) + nn.parameter(f"{name}.bias", (features,), constant(0))

    table = embedding(nn, "model.transformer.wte", nn.vocab, dims)
    places = embedding(nn, "model.transformer.wpe", nn.positions, dims)
    h, mask = nn.taken(table, x) + places[:tokens], causal(nn, tokens)
    for layer in range(layers):
        name = f"model.transformer.h.{layer}"
        qkv = conv1d(nn.layer_norm(h, f"{name}.ln_1"), f"{name}.attn.c_attn", 3 * dims)
        q, k, v = (heads_of(nn, qkv[..., i * dims : (i + 1) * dims], heads) for i in range(3))
        mixed = attend(nn, q, k, v, mask, scale=1 / math.sqrt(dims // heads))
        h = h + conv1d(mixed, f"{name}.attn.c_proj", dims)
        y = conv1d(nn.layer_norm(h, f"{name}.ln_2"), f"{name}.mlp.c_fc", 4 * dims)
        h = h + conv1d(nn.gelu_tanh(y), f"{name}.mlp.c_proj", dims)
    return nn.matmul(nn.layer_norm(h, "model.transformer.ln_f"), nn.swapped(table))


def gpt_neo(nn: Layers, x: Any, layers: int = 32, heads: int = 20) -> Any:
    """GPT-Neo: as GPT-2, but scores are not scaled, and every second layer sees a window."""
    tokens, dims = x.shape[-1], nn.dims
    table = embedding(nn, "model.transformer.wte", nn.vocab, dims)
    places = embedding(nn, "model.transformer.wpe", nn.positions, dims)
    h = nn.taken(table, x) + places[:tokens]
    masks = causal(nn, tokens), causal(nn, tokens, nn.window)
    for layer in range(layers):
        name = f"model.transformer.h.{layer}"
        of = f"{name}.attn.attention"
        y = nn.layer_norm(h, f"{name}.ln_1")
        q, k, v = (
            heads_of(nn, dense(nn, y, f"{of}.{part}_proj", dims, bias=False), heads)
            for part in "qkv"
        )
        mixed = attend(nn, q, k, v, masks[layer % 2], scale=1.0)
        h = h + dense(nn, mixed, f"{of}.out_proj", dims)
        y = dense(nn, nn.layer_norm(h, f"{name}.ln_2"), f"{name}.mlp.c_fc", 4 * dims)
        h = h + dense(nn, nn.gelu_tanh(y), f"{name}.mlp.c_proj", dims)
    return nn.matmul(nn.layer_norm(h, "model.transformer.ln_f"), nn.swapped(table))


# The first rows of OPT's and BART's tables of positions belong to no position.
FIRST_POSITION = 2


def opt(nn: Layers, x: Any, layers: int = 24, heads: int = 32) -> Any:
    """OPT: norms before attention and network, ReLU."""
    tokens, dims, inside = x.shape[-1], nn.dims, "model.model.decoder"
    table = embedding(nn, f"{inside}.embed_tokens", nn.vocab, dims)
    places = embedding(nn, f"{inside}.embed_positions", nn.positions + FIRST_POSITION, dims)
    h = nn.taken(table, x) + places[FIRST_POSITION : FIRST_POSITION + tokens]
    mask = causal(nn, tokens)
    for layer in range(layers):
        name = f"{inside}.layers.{layer}"
        y = nn.layer_norm(h, f"{name}.self_attn_layer_norm")
        h = h + _self_attention(nn, y, _projections(f"{name}.self_attn"), heads, mask)
        y = nn.layer_norm(h, f"{name}.final_layer_norm")
        h = h + dense(nn, nn.relu(dense(nn, y, f"{name}.fc1", nn.hidden)), f"{name}.fc2", dims)
    return nn.matmul(nn.layer_norm(h, f"{inside}.final_layer_norm"), nn.swapped(table))


def bart_decoder(nn: Layers, x: Any, layers: int = 12, heads: int = 16) -> Any:
    """BART's decoder without an encoder: norms behind attention and network, exact GELU."""
    tokens, dims, inside = x.shape[-1], nn.dims, "model.model.decoder"
    table = embedding(nn, f"{inside}.embed_tokens", nn.vocab, dims)
    places = embedding(nn, f"{inside}.embed_positions", nn.positions + FIRST_POSITION, dims)
    h = nn.taken(table, x) + places[FIRST_POSITION : FIRST_POSITION + tokens]
    h, mask = nn.layer_norm(h, f"{inside}.layernorm_embedding"), causal(nn, tokens)
    for layer in range(layers):
        name = f"{inside}.layers.{layer}"
        y = _self_attention(nn, h, _projections(f"{name}.self_attn"), heads, mask)
        h = nn.layer_norm(h + y, f"{name}.self_attn_layer_norm")
        y = dense(nn, nn.gelu(dense(nn, h, f"{name}.fc1", nn.hidden)), f"{name}.fc2", dims)
        h = nn.layer_norm(h + y, f"{name}.final_layer_norm")
    return nn.matmul(h, nn.swapped(table))


def _projections(name: str) -> tuple[str, str, str, str]:
    return f"{name}.q_proj", f"{name}.k_proj", f"{name}.v_proj", f"{name}.out_proj"


def electra(nn: Layers, x: Any, layers: int = 12, heads: int = 4) -> Any:
    """ELECTRA with a head for tokens: narrow embeddings, and attention in both directions."""
    table, h = _bert_embeddings(nn, x, "model.electra.embeddings", nn.embedded)
    h = dense(nn, h, "model.electra.embeddings_project", nn.dims)
    for layer in range(layers):
        h = _bert_layer(nn, h, f"model.electra.encoder.layer.{layer}", heads, nn.gelu, None)
    y = nn.gelu(dense(nn, h, "model.generator_predictions.dense", nn.embedded))
    y = nn.layer_norm(y, "model.generator_predictions.LayerNorm", eps=BERT_EPS)
    bias = nn.parameter("model.generator_lm_head.bias", (nn.vocab,), constant(0))
    return nn.matmul(y, nn.swapped(table)) + bias


def big_bird(nn: Layers, x: Any, layers: int = 12, heads: int = 12) -> Any:
    """BigBird with a head for tokens: long sequences have sparse attention of blocks."""
    table, h = _bert_embeddings(nn, x, "model.bert.embeddings", nn.dims)
    mask = sparse_blocks(nn, x.shape[-1], nn.block)
    for layer in range(layers):
        h = _bert_layer(nn, h, f"model.bert.encoder.layer.{layer}", heads, nn.gelu_tanh, mask)
    inside = "model.cls.predictions"
    y = nn.gelu_tanh(dense(nn, h, f"{inside}.transform.dense", nn.dims))
    y = nn.layer_norm(y, f"{inside}.transform.LayerNorm", eps=BERT_EPS)
    bias = nn.parameter(f"{inside}.bias", (nn.vocab,), constant(0))
    return nn.matmul(y, nn.swapped(table)) + bias


RANDOM_BLOCKS = 3


def sparse_blocks(nn: Layers, tokens: int, block: int) -> Any:
    """Return BigBird's mask; None for sequences that are short enough for full attention.

    The first and the last block see everything and are seen by all. Others see themselves and
    their neighbours. In evaluation mode the random blocks are all the first one, which therefore
    counts once more for each of them.
    """
    if tokens <= (5 + 2 * RANDOM_BLOCKS) * block:
        return None
    count = -(-tokens // block)
    apart = np.abs(np.arange(count)[:, None] - np.arange(count)[None])
    times = (apart <= 1).astype(float)
    times[:, 0] = 1 + RANDOM_BLOCKS
    times[:, -1] = 1
    # The second block sees the third one, and the last but one that before it: as neighbours.
    times[(0, -1), :] = 1
    whole = np.repeat(np.repeat(times, block, 0), block, 1)[:tokens, :tokens]
    with np.errstate(divide="ignore"):
        return nn.given(np.log(whole))


def _bert_embeddings(nn: Layers, x: Any, name: str, dims: int) -> tuple[Any, Any]:
    """Return the table of tokens, and the sums of all embeddings after a norm."""
    table = embedding(nn, f"{name}.word_embeddings", nn.vocab, dims)
    places = embedding(nn, f"{name}.position_embeddings", nn.positions, dims)
    kinds = embedding(nn, f"{name}.token_type_embeddings", 2, dims)
    h = nn.taken(table, x) + places[: x.shape[-1]] + kinds[:1]
    return table, nn.layer_norm(h, f"{name}.LayerNorm", eps=BERT_EPS)


def _bert_layer(  # noqa: PLR0917
    nn: Layers, h: Any, name: str, heads: int, activation: Callable[[Any], Any], mask: Any
) -> Any:
    """BERT's layer: norms behind attention and network."""
    inside = f"{name}.attention"
    of = f"{inside}.self"
    names = f"{of}.query", f"{of}.key", f"{of}.value", f"{inside}.output.dense"
    y = _self_attention(nn, h, names, heads, mask)
    h = nn.layer_norm(h + y, f"{inside}.output.LayerNorm", eps=BERT_EPS)
    y = activation(dense(nn, h, f"{name}.intermediate.dense", nn.hidden))
    y = dense(nn, y, f"{name}.output.dense", h.shape[-1])
    return nn.layer_norm(h + y, f"{name}.output.LayerNorm", eps=BERT_EPS)


# Layers of Reformer whose queries are its keys; the others have local attention.
HASHED_LAYERS = (2, 6, 10)
# The score of a token with itself, where queries are keys: used only if it sees nothing else.
SELF_SCORE = -1e5
NORM_EPS = 1e-6


def reformer(nn: Layers, x: Any, layers: int = 12, heads: int = 8) -> Any:
    """Reformer: reversible layers, for sequences of at most a chunk of hashed attention.

    For these no token is hashed, and local attention sees all earlier tokens. Positions are the
    first row of a grid: its table of rows has one row that counts.
    """
    tokens, dims = x.shape[-1], nn.dims
    inside = "model.reformer.embeddings"
    table = embedding(nn, f"{inside}.word_embeddings", nn.vocab, dims)
    first = nn.parameter(
        f"{inside}.position_embeddings.weights.0", (nn.rows, 1, dims // 4), randn()
    )
    second = nn.parameter(
        f"{inside}.position_embeddings.weights.1", (1, nn.columns, dims - dims // 4), randn()
    )
    row = nn.full(first[0], (tokens, dims // 4))
    x1 = nn.taken(table, x) + nn.concat([row, second[0, :tokens]], -1)
    x2, mask = x1, causal(nn, tokens)
    alone = nn.given(np.eye(tokens))
    for layer in range(layers):
        name = f"model.reformer.encoder.layers.{layer}"
        y = nn.layer_norm(x2, f"{name}.attention.layer_norm", eps=BERT_EPS)
        of = f"{name}.attention.self_attention"
        inner = heads * nn.head
        if layer in HASHED_LAYERS:
            q = heads_of(nn, dense(nn, y, f"{of}.query_key", inner, bias=False), heads)
            k = q / nn.sqrt(nn.mean(nn.square(q), -1, True) + NORM_EPS)
        else:
            q, k = (
                heads_of(nn, dense(nn, y, f"{of}.{part}", inner, bias=False), heads)
                for part in ("query", "key")
            )
        v = heads_of(nn, dense(nn, y, f"{of}.value", inner, bias=False), heads)
        scores = nn.matmul(q, nn.swapped(k)) * (1 / math.sqrt(nn.head))
        if layer in HASHED_LAYERS:
            scores = nn.where(alone > 0, SELF_SCORE, scores)
        mixed = merge_heads(nn, nn.matmul(nn.softmax(scores + mask, -1), v))
        x1 = x1 + dense(nn, mixed, f"{name}.attention.output.dense", dims, bias=False)
        of = f"{name}.feed_forward"
        y = nn.layer_norm(x1, f"{of}.layer_norm", eps=BERT_EPS)
        y = nn.relu(dense(nn, y, f"{of}.dense.dense", nn.hidden))
        x2 = x2 + dense(nn, y, f"{of}.output.dense", dims)
    both = nn.concat([x1, x2], -1)
    both = nn.layer_norm(both, "model.reformer.encoder.layer_norm", eps=BERT_EPS)
    return dense(nn, both, "model.lm_head.decoder", nn.vocab)
