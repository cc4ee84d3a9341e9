"""Write the kernels of KernelBench's level 4 as dispatches of language_models.h.

    python tools/language_kernels.py [--check]

Each architecture has a function that describes its layers in the order of the problem's body
(`metalbench.kernelbench.problems.language_models`). A step becomes one or two dispatch lines.
Problems that differ in sizes only share a file.
`--check` writes nothing and reports files that are not current.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from network_kernels import allow_small_grids

from metalbench.kernel.library import Library
from metalbench.kernelbench.problems import language_models
from metalbench.task import Task

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "kernels" / "kernelbench" / "level4"
FIRST_POSITION = language_models.FIRST_POSITION
# The most blocks of a sequence with full attention (`language_models.sparse_blocks`).
MOST_FULL_BLOCKS = 5 + 2 * language_models.RANDOM_BLOCKS

TUNABLES = {
    "BM": "64, 32",
    "BN": "64, 32",
    "BK": "16, 8",
    "BUFFERS": "1, 2",
    "SG": "2, 1, 4",
    "SPLITS": "1, 2",
    "AHEAD": "0, 1",
    "NORMS": "4, 1",
}
DEFAULTS = {
    "cpu": {"BM": 32, "BN": 32, "BUFFERS": 2, "NORMS": 1},
    "cuda": {"BM": 32, "BN": 32, "BUFFERS": 2, "SG": 4, "SPLITS": 2, "AHEAD": 1},
}


@dataclass(frozen=True)
class Linear:
    """A linear layer by the names of its parameters; `bias` is empty without one.

    `layout` says how the weights lie: `ByFeature` or `ByInput` of language_models.h.
    """

    weight: str
    bias: str = ""
    width: str = "dims"
    features: str = "dims"
    layout: str = "ByFeature"

    @classmethod
    def of(cls, name: str, *extents: str, layout: str = "ByFeature") -> Linear:
        """Return the layer called `name`, which has a bias; `extents` are width and features."""
        return cls(f"{name}_weight", f"{name}_bias", *extents, layout=layout)


def _affine(name: str, prefix: str = "") -> dict[str, str]:
    return {f"{prefix}weight": f"{name}_weight", f"{prefix}bias": f"{name}_bias"}


@dataclass
class Kernel:
    """The lines of one kernel, in the order of its steps."""

    layers: int
    heads: int
    # The eps of all norms, a type of language_models.h.
    eps: str = "EpsOfTorch"
    # Whether sequences have attention of blocks (BigBird).
    is_sparse: bool = False
    about: str = ""
    limits: str = ""
    # Whether SIMD-groups may split the dims of a head: they need a multiple of 64.
    can_split: bool = True
    dispatches: list[str] = field(default_factory=list)
    # By the name of a function, the template with its parameters.
    functions: dict[str, str] = field(default_factory=dict)
    # By the name of an array, its shape.
    scratch: dict[str, str] = field(default_factory=dict)

    def launch(
        self, template: str, parameters: str, grid: str, bound: Mapping[str, str], after: str = ""
    ) -> None:
        """Add a dispatch of template<parameters>, whose function's name ends with `after`."""
        name, instance = f"{template}{after}", f"{template}<{parameters}>"
        if self.functions.setdefault(name, instance) != instance:
            raise ValueError(f"{name} is {self.functions[name]} and {instance}")
        texts = ", ".join(f"{name} = {text}" for name, text in bound.items() if name != text)
        self.dispatches.append(f"// dispatch: {name}({texts})  {grid}")

    def embed(self, template: str, parameter: int, width: str = "dims", **bound: str) -> None:
        """Add the sum of the embeddings of a token."""
        grid = f"threads_in_grid=(ceil_div({width}, 4), all_tokens)  threads=(32, 1)"
        self.launch(template, str(parameter), grid, {**bound, "dims": width})

    def norm(self, source: str, name: str, to: str, width: str = "dims") -> None:
        """Add a norm whose rows are stored."""
        bound = {"from": source, **_affine(name), "to": to, "width": width}
        self.launch("norm", self.eps, _NORMS, bound)

    def _moments(self, source: str, name: str, width: str) -> dict[str, str]:
        """Add the moments of rows; return the bindings of a product that norms them."""
        self.launch("row_moments", self.eps, _NORMS, {"from": source, "width": width})
        return _affine(name, "norm_")

    def dense(
        self,
        source: str,
        layer: Linear,
        to: str,
        *,
        norm: str = "",
        added: str = "",
        activation: str = "",
    ) -> None:
        """Add a linear layer of the rows of `source`, which the layer `norm` norms first.

        The result is added to `added`, which may be `to` itself.
        """
        bound = {"from": source, **(self._moments(source, norm, layer.width) if norm else {})}
        bound["weight"] = layer.weight
        if layer.bias:
            bound["bias"] = layer.bias
        if added not in ("", to):
            bound["residual"] = added
        bound |= {"to": to, "width": layer.width, "features": layer.features}
        template = "normed_dense" if norm else "dense"
        if added:
            template += "_onto" if added == to else "_added"
        parameters = layer.layout
        if layer.bias and not added:
            parameters += f", {activation or 'Identity'}"
        template += "" if layer.bias else "_unbiased"
        after = re.sub("(?<!^)([A-Z])", r"_\1", activation).lower()
        grid = _product_grid(layer.features)
        self.launch(template, parameters, grid, bound, f"_{after}" if after else "")

    def network(
        self,
        source: str,
        layers: tuple[Linear, Linear],
        to: str,
        activation: str,
        *,
        norm: str = "",
        added: str = "",
    ) -> None:
        """Add two linear layers with an activation between them.

        The result is added to `added`, by default the source.
        """
        self.dense(source, layers[0], "wide", norm=norm, activation=activation)
        self.dense("wide", layers[1], to, added=added or source)

    def project(
        self,
        source: str,
        names: Sequence[str],
        *,
        norm: str = "",
        bias: bool = True,
        features: str = "dims",
    ) -> None:
        """Add the product that makes queries, keys and values, by the names of their layers.

        With two layers, the queries are the keys.
        """
        bound = {"from": source, **(self._moments(source, norm, "dims") if norm else {})}
        template = "normed_project" if norm else "project"
        parts = ("q", "k", "v") if len(names) == len("qkv") else ("qk", "v")
        for part, name in zip(parts, names, strict=True):
            bound[f"{part}_weight"] = f"{name}_weight"
            if bias:
                bound[f"{part}_bias"] = f"{name}_bias"
        if not bias:
            template += "_unbiased" if len(parts) == len("qkv") else "_shared"
        bound |= {"qkv": "wide", "width": "dims", "features": features}
        self.launch(template, "ByFeature", _product_grid(features, len(parts)), bound)

    def attend(
        self, template: str, parameters: str, blocks: str = "ceil_div(tokens, 8 * SG)", **bound: str
    ) -> None:
        """Add attention of all heads, from the array `wide` to `attended`."""
        threads = "32 * SG * SPLITS" if self.can_split else "32 * SG"
        grid = f"threadgroups=({blocks}, {self.heads}, batch)  threads=({threads})"
        bound = {"qkv": "wide", "heads": str(self.heads), **bound}
        self.launch(template, parameters, grid, bound)

    def text(self, title: str) -> str:
        """Return the text of the kernel."""
        lines = [f"// {title}", "// Written by tools/language_kernels.py."]
        lines += [f"// {line}" for line in self.about.strip().split("\n")]
        lines += ["// let: all_tokens = batch * tokens", *self.dispatches]
        lines += [f"// scratch: {name} float32 ({shape})" for name, shape in self.scratch.items()]
        tunables = [each for each in TUNABLES if self.can_split or each != "SPLITS"]
        lines += [f"// tune: {name} = {TUNABLES[name]}" for name in tunables]
        for kind, values in DEFAULTS.items():
            texts = ", ".join(f"{name} = {values[name]}" for name in values if name in tunables)
            lines.append(f"// defaults: {kind} {texts}")
        lines += [f"// limits: {self.limits}", '#include "metalbench/language_models.h"', ""]
        lines += [
            f'template [[host_name("{name}")]] [[kernel]]\ndecltype({instance}) {instance};'
            for name, instance in self.functions.items()
        ]
        return "\n".join(lines) + "\n"


_NORMS = "threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)"


def _product_grid(features: str, count: int = 1) -> str:
    across = f"ceil_div({features}, BN)"
    across = across if count == 1 else f"{count} * {across}"
    return f"threadgroups=({across}, ceil_div(all_tokens, BM))  threads=(128)"


# The architectures.


def write_gpt2(kernel: Kernel) -> None:
    """Norms before attention and network, which add to the tokens `h`."""
    kernel.about = """
Of a norm only mean and scale of each row are stored: the product behind it norms what it
fetches. Blocks add to the tokens `h`; queries, keys and values are one product of which heads
are slices."""
    kernel.limits = "dims % 12 == 0, dims <= 12 * 64"
    kernel.scratch = _scratch(["h", "attended"], "4 * dims", moments=True)
    inside, layout = "model_transformer", "ByInput"
    tables = {"table": f"{inside}_wte_weight", "places": f"{inside}_wpe_weight"}
    kernel.embed("embed", 0, **tables, to="h")
    for layer in range(kernel.layers):
        name = f"{inside}_h_{layer}"
        qkv = Linear.of(f"{name}_attn_c_attn", "dims", "3 * dims", layout=layout)
        kernel.dense("h", qkv, "wide", norm=f"{name}_ln_1")
        kernel.attend("attend", "64, true")
        out = Linear.of(f"{name}_attn_c_proj", layout=layout)
        kernel.dense("attended", out, "h", added="h")
        layers = (
            Linear.of(f"{name}_mlp_c_fc", "dims", "4 * dims", layout=layout),
            Linear.of(f"{name}_mlp_c_proj", "4 * dims", "dims", layout=layout),
        )
        kernel.network("h", layers, "h", "GeluTanh", norm=f"{name}_ln_2")
    head = Linear(f"{inside}_wte_weight", features="vocab")
    kernel.dense("h", head, "y", norm=f"{inside}_ln_f")


def write_gpt_neo(kernel: Kernel) -> None:
    """GPT-2's blocks, with scores that are not scaled, and a window in every second layer."""
    kernel.about = """
As GPT-2: norms are applied where products fetch, blocks add to the tokens `h`. Queries, keys
and values have separate weights, but one dispatch. A layer without a window has one of all
tokens."""
    kernel.limits = "dims % 20 == 0, dims <= 20 * 96"
    kernel.can_split = False
    kernel.scratch = _scratch(["h", "attended"], "4 * dims", moments=True)
    inside = "model_transformer"
    tables = {"table": f"{inside}_wte_weight", "places": f"{inside}_wpe_weight"}
    kernel.embed("embed", 0, **tables, to="h")
    for layer in range(kernel.layers):
        name = f"{inside}_h_{layer}"
        of = f"{name}_attn_attention"
        qkv = [f"{of}_{part}_proj" for part in "qkv"]
        kernel.project("h", qkv, norm=f"{name}_ln_1", bias=False)
        kernel.attend("attend_window", "96", window="window" if layer % 2 else "tokens")
        kernel.dense("attended", Linear.of(f"{of}_out_proj"), "h", added="h")
        layers = _network(f"{name}_mlp_c_fc", f"{name}_mlp_c_proj", "4 * dims")
        kernel.network("h", layers, "h", "GeluTanh", norm=f"{name}_ln_2")
    head = Linear(f"{inside}_wte_weight", features="vocab")
    kernel.dense("h", head, "y", norm=f"{inside}_ln_f")


def write_opt(kernel: Kernel) -> None:
    """Norms before attention and network, ReLU."""
    kernel.about = """
Of a norm only mean and scale of each row are stored: the product behind it norms what it
fetches. Blocks add to the tokens `h`. Queries, keys and values have separate weights, but one
dispatch."""
    kernel.limits = "dims % 32 == 0, dims <= 32 * 64"
    kernel.scratch = _scratch(["h", "attended"], "max(3 * dims, hidden)", moments=True)
    inside = "model_model_decoder"
    kernel.embed("embed", FIRST_POSITION, **_decoder_tables(inside), to="h")
    for layer in range(kernel.layers):
        name = f"{inside}_layers_{layer}"
        of = f"{name}_self_attn"
        qkv = [f"{of}_{part}_proj" for part in "qkv"]
        kernel.project("h", qkv, norm=f"{of}_layer_norm")
        kernel.attend("attend", "64, true")
        kernel.dense("attended", Linear.of(f"{of}_out_proj"), "h", added="h")
        layers = _network(f"{name}_fc1", f"{name}_fc2")
        kernel.network("h", layers, "h", "Relu", norm=f"{name}_final_layer_norm")
    head = Linear(f"{inside}_embed_tokens_weight", features="vocab")
    kernel.dense("h", head, "y", norm=f"{inside}_final_layer_norm")


def write_bart(kernel: Kernel) -> None:
    """Norms behind attention and network, exact GELU."""
    kernel.about = """
Norms are behind the blocks: a product stores the sum of its result and the tokens `h`, and the
norm of the sum becomes the tokens. Queries, keys and values have separate weights, but one
dispatch."""
    kernel.limits = "dims % 16 == 0, dims <= 16 * 64"
    kernel.scratch = _scratch(["h", "mixed", "attended"], "max(3 * dims, hidden)")
    inside = "model_model_decoder"
    kernel.embed("embed", FIRST_POSITION, **_decoder_tables(inside), to="mixed")
    kernel.norm("mixed", f"{inside}_layernorm_embedding", "h")
    for layer in range(kernel.layers):
        name = f"{inside}_layers_{layer}"
        of = f"{name}_self_attn"
        kernel.project("h", [f"{of}_{part}_proj" for part in "qkv"])
        kernel.attend("attend", "64, true")
        kernel.dense("attended", Linear.of(f"{of}_out_proj"), "mixed", added="h")
        kernel.norm("mixed", f"{of}_layer_norm", "h")
        kernel.network("h", _network(f"{name}_fc1", f"{name}_fc2"), "mixed", "Gelu")
        kernel.norm("mixed", f"{name}_final_layer_norm", "h")
    kernel.dense("h", Linear(f"{inside}_embed_tokens_weight", features="vocab"), "y")


def write_electra(kernel: Kernel) -> None:
    """BERT's layers, between narrow embeddings and a head of their width."""
    kernel.about = """
Norms are behind the blocks: a product stores the sum of its result and the tokens `h`, and the
norm of the sum becomes the tokens. Embeddings and the head have narrower rows."""
    kernel.eps = "EpsOfBert"
    kernel.limits = "dims % 4 == 0, dims <= 4 * 64"
    kernel.scratch = _scratch(["h", "mixed", "attended"], "max(3 * dims, hidden)")
    kernel.scratch |= dict.fromkeys(("narrow", "normed"), "all_tokens, embedded")
    inside, heading = "model_electra", "model_generator_predictions"
    tables = _bert_tables(f"{inside}_embeddings")
    kernel.embed("embed_typed", 0, width="embedded", **tables, to="narrow")
    kernel.norm("narrow", f"{inside}_embeddings_LayerNorm", "normed", "embedded")
    kernel.dense("normed", Linear.of(f"{inside}_embeddings_project", "embedded"), "h")
    for layer in range(kernel.layers):
        _write_bert_layer(kernel, f"{inside}_encoder_layer_{layer}", "Gelu")
    dense = Linear.of(f"{heading}_dense", "dims", "embedded")
    kernel.dense("h", dense, "narrow", activation="Gelu")
    kernel.norm("narrow", f"{heading}_LayerNorm", "normed", "embedded")
    head = Linear(tables["table"], "model_generator_lm_head_bias", "embedded", "vocab")
    kernel.dense("normed", head, "y")


def write_big_bird(kernel: Kernel) -> None:
    """BERT's layers with GELU by tanh, and attention of blocks where sequences are long."""
    kernel.about = """
Norms are behind the blocks: a product stores the sum of its result and the tokens `h`, and the
norm of the sum becomes the tokens."""
    kernel.eps = "EpsOfBert"
    kernel.limits = "dims % 12 == 0, dims <= 12 * 64"
    if kernel.is_sparse:
        kernel.about += """ A block of queries passes over the blocks that it sees:
its neighbours, the last, and the first, which counts as often as the random blocks add it."""
    else:
        kernel.about += " Sequences are too short for attention of blocks."
        kernel.limits += f", tokens <= {MOST_FULL_BLOCKS} * block"
    kernel.scratch = _scratch(["h", "mixed", "attended"], "max(3 * dims, hidden)")
    inside, heading = "model_bert", "model_cls_predictions"
    tables = _bert_tables(f"{inside}_embeddings")
    kernel.embed("embed_typed", 0, **tables, to="mixed")
    kernel.norm("mixed", f"{inside}_embeddings_LayerNorm", "h")
    for layer in range(kernel.layers):
        _write_bert_layer(kernel, f"{inside}_encoder_layer_{layer}", "GeluTanh")
    transform = f"{heading}_transform"
    kernel.dense("h", Linear.of(f"{transform}_dense"), "mixed", activation="GeluTanh")
    kernel.norm("mixed", f"{transform}_LayerNorm", "h")
    kernel.dense("h", Linear(tables["table"], f"{heading}_bias", features="vocab"), "y")


def write_reformer(kernel: Kernel) -> None:
    """Reversible layers: attention adds to one half, and the network of it to the other."""
    kernel.about = """
Layers are reversible: attention of the half `x2` adds to `x1`, and a network of `x1` to `x2`.
Of a norm only mean and scale of each row are stored: the product behind it norms what it
fetches. Where queries are keys, the norm of a key is a factor of its scores, and a token sees
itself only if it sees nothing else."""
    kernel.eps = "EpsOfBert"
    kernel.limits = "dims % 4 == 0, head <= 128"
    inner = f"{kernel.heads} * head"
    wide = f"max({3 * kernel.heads} * head, max(hidden, 2 * dims))"
    kernel.scratch = _scratch(["x1", "x2"], wide, moments=True)
    kernel.scratch |= {"attended": f"all_tokens, {inner}", "scales": f"{kernel.heads}, all_tokens"}
    inside = "model_reformer"
    tables = f"{inside}_embeddings"
    kernel.embed(
        "embed_axial",
        4,
        table=f"{tables}_word_embeddings_weight",
        lines=f"{tables}_position_embeddings_weights_0",
        places=f"{tables}_position_embeddings_weights_1",
        to="x1",
        twin="x2",
    )
    for layer in range(kernel.layers):
        name = f"{inside}_encoder_layers_{layer}"
        of, norm = f"{name}_attention_self_attention", f"{name}_attention_layer_norm"
        is_shared = layer in language_models.HASHED_LAYERS
        parts = ("query_key", "value") if is_shared else ("query", "key", "value")
        names = [f"{of}_{part}" for part in parts]
        kernel.project("x2", names, norm=norm, bias=False, features=inner)
        if is_shared:
            bound = {"qkv": "wide", "heads": str(kernel.heads), "dims": inner}
            grid = f"threadgroups=(tokens, batch)  threads=(32 * {kernel.heads})"
            kernel.launch("key_scales", "EpsOfKeys", grid, bound)
            kernel.attend("attend_shared", "128", dims=inner)
        else:
            kernel.attend("attend", "128, true", dims=inner)
        out = Linear(f"{name}_attention_output_dense_weight", width=inner)
        kernel.dense("attended", out, "x1", added="x1")
        of = f"{name}_feed_forward"
        layers = _network(f"{of}_dense_dense", f"{of}_output_dense")
        kernel.network("x1", layers, "x2", "Relu", norm=f"{of}_layer_norm", added="x2")
    grid = "threads_in_grid=(ceil_div(dims, 4), all_tokens)  threads=(32, 1)"
    bound = {"first": "x1", "second": "x2", "to": "wide", "width": "dims"}
    kernel.launch("join_halves", "float", grid, bound)
    head = Linear.of("model_lm_head_decoder", "2 * dims", "vocab")
    kernel.dense("wide", head, "y", norm=f"{inside}_encoder_layer_norm")


def _scratch(arrays: Sequence[str], wide: str, *, moments: bool = False) -> dict[str, str]:
    """Return scratch of a model: `wide` has queries, keys and values, then a network's layer."""
    found = dict.fromkeys(arrays, "all_tokens, dims") | {"wide": f"all_tokens, {wide}"}
    return found | ({"moments": "all_tokens, 2"} if moments else {})


def _network(first: str, second: str, hidden: str = "hidden") -> tuple[Linear, Linear]:
    return Linear.of(first, "dims", hidden), Linear.of(second, hidden, "dims")


def _decoder_tables(inside: str) -> dict[str, str]:
    tables = {"table": "embed_tokens", "places": "embed_positions"}
    return {name: f"{inside}_{each}_weight" for name, each in tables.items()}


def _bert_tables(inside: str) -> dict[str, str]:
    tables = {"table": "word", "places": "position", "types": "token_type"}
    return {name: f"{inside}_{each}_embeddings_weight" for name, each in tables.items()}


def _write_bert_layer(kernel: Kernel, name: str, activation: str) -> None:
    inside = f"{name}_attention"
    kernel.project("h", [f"{inside}_self_{part}" for part in ("query", "key", "value")])
    if kernel.is_sparse:
        blocks = "ceil_div(block, 8 * SG) * ceil_div(tokens, block)"
        random = language_models.RANDOM_BLOCKS
        kernel.attend("attend_blocks", f"64, {random}", blocks)
    else:
        kernel.attend("attend", "64, false")
    kernel.dense("attended", Linear.of(f"{inside}_output_dense"), "mixed", added="h")
    kernel.norm("mixed", f"{inside}_output_LayerNorm", "h")
    layers = _network(f"{name}_intermediate_dense", f"{name}_output_dense")
    kernel.network("h", layers, "mixed", activation)
    kernel.norm("mixed", f"{name}_output_LayerNorm", "h")


# By a part of a problem's name, the architecture and its body.
ARCHITECTURES: dict[str, tuple[Callable[[Kernel], None], Callable[..., object]]] = {
    "gpt2": (write_gpt2, language_models.gpt2),
    "opt": (write_opt, language_models.opt),
    "gpt_neo": (write_gpt_neo, language_models.gpt_neo),
    "bart": (write_bart, language_models.bart_decoder),
    "electra": (write_electra, language_models.electra),
    "big_bird": (write_big_bird, language_models.big_bird),
    "reformer": (write_reformer, language_models.reformer),
}


def write_kernel(task: Task) -> str:
    """Return the text of the kernel of a task, whose problem is declared."""
    (write, body), *_ = (each for part, each in ARCHITECTURES.items() if f"_{part}_" in task.name)
    numbers = inspect.signature(body).parameters
    kernel = Kernel(numbers["layers"].default, numbers["heads"].default)
    own = task.extents("paper")
    kernel.is_sparse = own["tokens"] > MOST_FULL_BLOCKS * own.get("block", own["tokens"])
    write(kernel)
    model, *_ = task.description.partition(": logits")
    return allow_small_grids(kernel.text(f"{model}: from token numbers to logits."), task)


def write_files() -> Iterator[tuple[str, str]]:
    """Yield name and text of the kernel of each task; equal ones refer to the first of them."""
    first: dict[str, str] = {}
    for entry in map(Library().entry, Library().names("kernelbench/level4")):
        text = write_kernel(entry.task)
        name = first.setdefault(text, entry.name)
        yield entry.name, text if name == entry.name else f"// kernel: {name}.metal\n"


def main(arguments: Sequence[str]) -> int:
    """Write the kernels, or report those that are not current."""
    stale = []
    for name, text in write_files():
        path = FOLDER / f"{name}.metal"
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            path.write_text(text)
    if "--check" in arguments and stale:
        print(f"not current: {', '.join(stale)}; run python tools/language_kernels.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
