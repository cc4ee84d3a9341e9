"""Write docs/reference/headers/, a page for each group of headers; `--check` says what is stale.

python tools/headers_md.py

A section has the first comment of the header, its declarations without bodies, and an example: a
file of docs/examples, or a kernel of the library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "kernels"
HEADERS = KERNELS / "include/metalbench"
EXAMPLES = ROOT / "docs/examples"
TARGET = ROOT / "docs/reference/headers"

# Of each group: the name of its page, its title, and its headers with their examples. An example is
# a file, without its suffix, of docs/examples, or a kernel of the library with its folder.
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "elements": (
        "Elements and threads",
        {
            "quads": "quads",
            "inlined": "inlined",
            "divisor": "divisor",
            "elementwise": "elementwise",
            "typed": "typed",
            "activations": "activations",
            "elementary": "families/random/random_uniform",
            "exponentials": "families/elementwise/clipped_swiglu",
            "normal_distribution": "standard/gelu_linear",
            "gates": "families/elementwise/silu_gate",
            "reduce": "reduce",
        },
    ),
    "rows": (
        "Rows of a matrix",
        {
            "rows": "rows",
            "row_reductions": "families/reduction/sum_rows",
            "arg_rows": "arg_rows",
            "softmax": "softmax",
            "norm": "norm",
            "norm_gradients": "families/norm/layer_norm_gradient",
            "group_rows": "kernelbench/level2/kb2_030_gemm_group_norm_hardtanh",
            "channel_rows": "kernelbench/level2/kb2_024_conv3d_min_softmax",
            "scan": "scan",
            "running": "families/reduction/cummax",
            "sort": "sort",
            "cut": "families/random/top_k_mask",
            "ranks": "families/random/top_k_mask",
            "sampling": "families/random/sample_token",
            "array_sum": "array_sum",
            "radix": "families/reduction/sort_long_half",
            "radix_dispatches": "families/reduction/sort_long",
            "compaction": "families/reduction/unique",
        },
    ),
    "columns": (
        "Columns and pixels",
        {
            "columns": "columns",
            "column_softmax": "kernelbench/level3/kb3_045_unet_softmax",
            "joins": "columns",
            "column_norm": "common/batch_norm",
            "pixel_norm": "kernelbench/level1/kb1_034_instance_norm",
            "pool": "pool",
        },
    ),
    "products": (
        "Matrix products",
        {
            "matvec": "matvec",
            "tiles": "tiles",
            "tile_sources": "tiles",
            "tile_operand": "tiles",
            "tile_layout": "tiles",
            "tensor_tiles": "standard/linear_bias.metal4",
            "tensor_staging": "families/quantised/qmm4.metal4",
            "epilogues": "linear",
            "linear": "linear",
            "dense": "full/densenet",
            "row_shares": "kernelbench/level2/"
            "kb2_058_conv_transpose3d_log_sum_exp_hard_swish_subtract_clamp",
            "linear_cross_entropy": "families/training/linear_cross_entropy_gradient",
            "product_norms": "standard/rms_norm_linear",
            "spilled_tile": "common/conv3d_div_pool_sum",
            "layer_norms": "kernelbench/level3/kb3_044_minigpt_block",
            "cell_gates": "families/recurrent/lstm_cell",
            "net_vlad": "kernelbench/level3/kb3_047_net_vlad_no_ghost_clusters",
            "grouped_tiles": "families/experts/gather_mm_sorted",
            "lane_top": "families/experts/moe_router",
        },
    ),
    "convolutions": (
        "Convolutions",
        {
            "windows": "kernelbench/level1/kb1_071_conv_transposed_2d",
            "window_sources": "kernelbench/level1/kb1_071_conv_transposed_2d",
            "window_products": "kernelbench/level1/kb1_071_conv_transposed_2d",
            "window_norms": "kernelbench/level2/kb2_052_conv2d_activation_batch_norm",
            "pooled_windows": "kernelbench/level2/kb2_035_conv2d_subtract_hard_swish_max_pool_mish",
            "softmax_pool": "common/conv3d_softmax_pool",
            "convolution": "common/conv3d",
            "depthwise": "kernelbench/level1/kb1_082_conv_depthwise_2d",
            "convolution_gradients": "families/training/conv2d_weight_gradient",
            "networks": "kernelbench/level3/kb3_008_resnet_basic_block",
        },
    ),
    "attention": (
        "Attention",
        {
            "attention": "attention",
            "sights": "attention",
            "layer_dispatches": "kernelbench/level3/kb3_032_convolutional_vision_transformer",
            "window_tokens": "kernelbench/level3/kb3_029_swin_mlp",
            "window_attention": "kernelbench/level3/kb3_030_swin_transformer_v2",
            "swin_dispatches": "kernelbench/level3/kb3_029_swin_mlp",
            "encoder_dispatches": "kernelbench/level3/kb3_032_convolutional_vision_transformer",
            "language_models": "kernelbench/level4/kb4_007_gpt2_bs32_seq256",
            "merged_attention": "kernelbench/level3/kb3_043_mingpt_causal_attention",
            "tensor_attention": "families/attention/sdpa_causal.metal4",
            "attention_rows": "attention",
            "attention_products": "attention",
            "attention_gradient": "families/training/sdpa_causal_gradient",
            "rope": "families/rope/rope_positions",
            "rope_halves": "families/rope/rope_positions",
            "decode": "decode",
            "split_decode": "families/attention/sdpa_decode_fp8",
            "partials": "families/attention/merge_partials",
            "quantised_cache": "families/attention/sdpa_decode_fp8",
            "paged_cache": "families/attention/sdpa_prefix_paged",
            "packed_texts": "families/attention/sdpa_varlen",
        },
    ),
    "quantised": (
        "Weights and caches of few bits",
        {
            "quantised": "families/quantised/dequantize_mxfp4",
            "quantised_matvec": "quantised_matvec",
            "quantised_columns": "families/quantised/qmv4_columns",
            "quantised_tiles": "families/quantised/qmm_mxfp4",
            "few_rows": "families/quantised/qmm_mxfp4_few",
            "gguf_blocks": "families/quantised/dequantize_q4_k",
            "quantise": "families/quantised/quantize_affine4",
            "quantise_floats": "families/cache/kv_append_fp8",
        },
    ),
    "science": (
        "Scientific computing",
        {
            "stencil": "families/science/heat_2d",
            "tridiagonal": "families/science/tridiagonal_rows",
            "multigrid": "families/science/poisson_multigrid",
            "block_rows": "families/linalg/triangular_solve",
        },
    ),
    "sequences": (
        "Recurrences, transforms and random numbers",
        {
            "state_rows": "families/recurrent/delta_replay",
            "state_columns": "kernelbench/level3/kb3_049_mamba2_return_final_state",
            "recurrent_layers": "kernelbench/level3/kb3_034_vanilla_rnn_hidden",
            "recurrent_dispatches": "kernelbench/level3/kb3_039_gru",
            "chunked_delta": "families/recurrent/gated_delta_chunked",
            "fourier": "fourier",
            "real_fourier": "families/transform/rfft_1024",
            "sound": "families/audio/stft_power",
            "philox": "philox",
            "threefry": "families/random/threefry_bits",
        },
    ),
    "integers": (
        "Hash functions and integers of many bits",
        {
            "messages": "families/integers/sha256",
            "sha256": "families/integers/sha256",
            "keccak": "families/integers/sha3_256",
            "hash_tree": "families/integers/merkle_root",
            "blake3": "families/integers/blake3",
            "prime_field": "families/integers/mont_mul",
            "curve": "families/integers/msm_buckets",
            "ntt": "families/integers/ntt_goldilocks",
        },
    ),
}
INDEX = """\
# Headers of the library

Written by `python tools/headers_md.py`. `#include "metalbench/NAME.h"` brings a header into a
kernel; the path is known to every command of `metalbench` and to `metalbench.check_kernel`.
`metalbench export NAME --standalone` writes a kernel together with the headers that it uses.

The words *quad* (four neighbouring elements), *row* and *place* (of a thread) are those of
[`quads.h`](elements.md#quadsh), [`rows.h`](rows.md#rowsh) and [`reduce.h`](elements.md#reduceh).

| header | gives |
|---|---|
"""
_WORD = re.compile(r"//[^\n]*|[{}();]")
# What encloses declarations, in contrast to a body.
_CONTAINER = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|union|enum|namespace)\b", re.DOTALL)


def example_path(example: str) -> Path:
    """Return the file of an example."""
    return (KERNELS if "/" in example else EXAMPLES) / f"{example}.metal"


def describe(text: str) -> str:
    """Return the comment at the beginning of a header, without slashes."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return "\n".join(lines)


def to_markdown(comment: str) -> str:
    """Return a comment as Markdown: its indented lines are code."""
    result: list[str] = []
    is_code = False
    for line in comment.splitlines():
        if line.startswith("  ") != is_code:
            result.append("```text" if not is_code else "```")
            result.insert(len(result) - 1 if not is_code else len(result), "")
            is_code = not is_code
        result.append(line.removeprefix("  ") if is_code else line)
    return "\n".join([*result, "```"] if is_code else result).strip()


def list_declarations(text: str) -> str:
    """Return the declarations and macros of a header, without the bodies of functions."""
    begin = text.index("\n", text.index("#pragma once")) + 1
    text = re.sub(r"^(#include|using namespace) .*\n", "", text[begin:], flags=re.MULTILINE)
    text = re.sub(r"^namespace \w+ \{\n|^\}  // namespace.*\n", "", text, flags=re.MULTILINE)
    text = _strip_bodies(text)
    text = re.sub(r"\b(?:static )?constant constexpr ", "constexpr ", text)
    return re.sub(r"\n{3,}", "\n\n", _without_inline(text)).strip()


def _without_inline(text: str) -> str:
    """Remove `inline` and `INLINED`, which tell a reader of the page nothing."""
    lines = []
    depth = shift = 0
    for line in text.split("\n"):
        found = re.match(r"( *)((?:inline |INLINED )+)", line)
        if found:
            shift = len(found[2])
            shown = found[1] + line[found.end() :]
        else:
            shift = shift if depth > 0 else 0
            shown = line.removeprefix(" " * shift)
        depth += line.count("(") - line.count(")")
        lines.append(shown)
    return "\n".join(lines)


def _strip_bodies(text: str) -> str:
    """Replace each body of a function by a semicolon."""
    result: list[str] = []
    begin = 0  # of the text that has not been copied
    head = 0  # of the declaration
    depth = 0  # of parentheses
    position = 0
    while found := _WORD.search(text, position):
        word = found[0]
        position = found.end()
        start = text[head : found.start()].strip()
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word.startswith("//"):
            head = head if start else position
        elif word == "{" and depth == 0 and not _CONTAINER.match(start):
            position = _skip_braces(text, found.start())
            if "(" in start:
                result.append(_without_initialisers(text[begin : found.start()].rstrip()) + ";")
                begin = head = position
        elif word in "{};" and depth == 0:
            head = position
    result.append(text[begin:])
    return "".join(result)


def _without_initialisers(head: str) -> str:
    """Return the head of a constructor without its initialisers; other heads as they are."""
    return re.sub(r"\)\s*:\s*\w+\(.*$", ")", head, flags=re.DOTALL)


def _skip_braces(text: str, position: int) -> int:
    """Return the place after the brace that closes the one at `position`."""
    depth = 0
    for place in range(position, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError("a brace is not closed")


def write_section(name: str, example: str, shown: dict[str, str]) -> str:
    """Return the section of a header. `shown` has the examples of the page, with their headers."""
    text = (HEADERS / f"{name}.h").read_text(encoding="utf-8")
    includes = re.findall(r'^#include "metalbench/(\w+)\.h"', text, re.MULTILINE)
    parts = [f"## `{name}.h`", to_markdown(describe(text))]
    if includes:
        parts.append(f"It includes {', '.join(f'`{each}.h`' for each in includes)}.")
    parts.append(f"```cpp\n{list_declarations(text)}\n```")
    if example in shown:
        parts.append(f"The [example of `{shown[example]}.h`](#{shown[example]}h) uses it.")
    else:
        shown[example] = name
        path = example_path(example)
        link = f"[{path.name}](../../../{path.relative_to(ROOT).as_posix()})"
        source = path.read_text(encoding="utf-8").strip()
        parts.append(f"Example, {link}:\n\n```cpp\n{source}\n```")
    return "\n\n".join(parts) + "\n"


def write_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    index = [INDEX.rstrip("\n")]
    for page, (title, headers) in GROUPS.items():
        shown: dict[str, str] = {}
        sections = [write_section(name, example, shown) for name, example in headers.items()]
        about = f"# Headers: {title.lower()}\n\nWritten by `python tools/headers_md.py`.\n"
        yield f"{page}.md", "\n".join([about, *sections])
        for name in headers:
            text = (HEADERS / f"{name}.h").read_text(encoding="utf-8")
            sentence = re.split(r"(?<=[.:])\s", describe(text).replace("\n", " "), maxsplit=1)[0]
            sentence = sentence.rstrip(".:").replace("|", "\\|")
            index.append(f"| [`{name}.h`]({page}.md#{name}h) | {sentence} |")
    yield "index.md", "\n".join(index) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them."""
    pages = dict(write_pages())
    stale = [
        name
        for name, text in pages.items()
        if not (TARGET / name).is_file() or (TARGET / name).read_text(encoding="utf-8") != text
    ]
    stale += [each.name for each in TARGET.glob("*.md") if each.name not in pages]
    if "--check" not in arguments:
        TARGET.mkdir(exist_ok=True)
        for name, text in pages.items():
            (TARGET / name).write_text(text, encoding="utf-8")
        return 0
    if stale:
        print(f"{', '.join(stale)}: run `python tools/headers_md.py`", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
