"""Values that nothing has given, followed to where they matter by clang's MemorySanitizer.

Its pass (-fsanitize=kernel-memory) gives every value a shadow and an origin, and asks a runtime,
here csrc/msl/mb/cpu/uninitialised.h, for those of memory. It has to come before whatever may
conclude that a value which nothing gives is the one that is convenient. Code that nobody has
optimised keeps every variable in memory, though, which costs a hundredfold. So variables become
values first, and a declaration becomes a value that has none: a call, which also knows the
variable's name and place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import Metadata
from metalbench.msl.transforms.subscripts import name_constant, plain

# Every pass of the pipeline that concludes something, by its name there.
# fmt: off
_CONCLUDING = (
    "simplifycfg", "ipsccp", "globalopt", "instcombine", "called-value-propagation", "early-cse",
    "inline", "function-attrs", "speculative-execution", "jump-threading",
    "correlated-propagation", "reassociate", "loop-rotate", "licm", "simple-loop-unswitch",
    "loop-simplifycfg", "loop-instsimplify", "loop-idiom", "indvars", "loop-deletion",
    "loop-unroll-full", "loop-unroll", "sccp", "bdce", "dse", "memcpyopt", "tailcallelim",
    "deadargelim", "rpo-function-attrs", "gvn", "constraint-elimination", "libcalls-shrinkwrap",
    "mldst-motion", "div-rem-pairs", "loop-sink", "instsimplify", "globaldce", "constmerge",
    "float2int", "lower-constant-intrinsics", "loop-distribute", "inject-tli-mappings",
    "loop-vectorize", "slp-vectorizer", "vector-combine", "transform-warning", "infer-alignment",
    "loop-load-elim", "alignment-from-assumptions", "expand-memcmp", "openmp-opt",
    "openmp-opt-cgscc", "inferattrs", "forceattrs", "elim-avail-extern", "cg-profile",
    "rel-lookup-table-converter", "callsite-splitting", "lower-expect", "loop-simplify", "lcssa",
)
# fmt: on

_NAMED_TYPE = re.compile(r'(%(?:[\w.]+|"[^"]*")) = type <?(\{.*\})>?$')
_ALLOCA = re.compile(r"  (%[\w.]+) = alloca (.*), align \d+")
_BORN = re.compile(
    r"  call void @llvm\.lifetime\.start\.p0\((?:i64 \d+, )?ptr (%[\w.]+)\).*(, !dbg !\d+)"
)
_ARRAY = re.compile(r"\[(\d+) x (.*)\]$")
_SCALARS = frozenset({"i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", "ptr"})
# Of a larger variable it is the memory that is followed.
_MOST_LEAVES = 16
_HEAD = re.compile(r"define .* !dbg (!\d+) ")
_AT_LOADING = re.compile(r"^(define [^\n]*@sancov\.module_ctor\w*\(\)[^\n]*\{)\n.*?^}", re.M | re.S)
_CALL = re.compile(r"  (?:%\S+ = )?(?:tail |notail |musttail )?call ")
_LABEL = re.compile(r'(?:"[^"]*"|[-\w.$]+):')
_PLACED = re.compile(r", !dbg (!\d+)")
_CHECKED_ARITHMETIC = re.compile(
    r"  (%[\w.]+) = call \{ (?P<type>i\d+), i1 \} @llvm\.[su](?P<op>add|sub|mul)\.with\.overflow"
    r"\.i\d+\(i\d+ (?P<left>[^,]+), i\d+ (?P<right>[^)]+)\).*, !nosanitize "
)
_RESULT = re.compile(
    r"  (?P<value>%[\w.]+) = extractvalue \{ i\d+, i1 \} (?P<pair>%[\w.]+), 0(?P<rest>, .*)"
)
_CONVERSION = re.compile(
    r"  (?P<value>%[\w.]+) = (?:tail )?call (?P<to>\S+|<[^>]*>) "
    r"@llvm\.(?P<call>fpto[su]i\.sat\.[\w.]+)"
    r"\((?P<from>\S+|<[^>]*>) (?:noundef )?(?P<operand>[^,)]+)\)(?P<rest>.*)"
)
_BITS = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}
_DARWIN, _LINUX = re.compile(r"^--target=arm64-apple-.*"), "--target=aarch64-unknown-linux-gnu"
_TARGET = re.compile(r"^target (?:datalayout|triple) = .*\n", re.M)
_NOT_SANITIZED = re.compile(r", !nosanitize !\d+")


def following(options: Iterable[str]) -> list[str]:
    """The flags with which clang's front end marks what is to be followed, as it parses."""
    marked = [each.replace("kernel-address", "kernel-memory") for each in options]
    return [*marked, "-fno-sanitize-memory-param-retval", "-DMB_SHADOW=1"]


def followed(options: Iterable[str]) -> list[list[str]]:
    """The flags of each run of clang that turns variables into values, and has these followed.

    Accesses are traced before: those of the shadow are no kernel's. The pass that follows refuses
    Darwin, as it does not know where shadows lie there. Here a runtime says where, so it has a run
    of its own, in which the module is one of Linux.
    """
    flags = [*following(options), "-mllvm", f"-opt-disable={','.join(_CONCLUDING)}"]
    if not any(_DARWIN.match(each) for each in flags):
        return [flags]
    place = flags.index("-fsanitize=kernel-memory")
    tracing = [*flags[: place - 1], *flags[place + 1 :]]  # without -Xclang before it
    return [tracing, [_DARWIN.sub(_LINUX, each) for each in traced(flags)]]


def without_target(ir: str) -> str:
    """The module without its target and layout of data: clang takes those of its command line."""
    return _TARGET.sub("", ir)


def traced(options: Iterable[str]) -> list[str]:
    """The flags for what is left to be done, to code that is traced already."""
    return [each for each in options if not each.startswith("-fsanitize-coverage")]


def with_births(ir: str) -> str:
    """The module, in which the user's variables begin as values that were never given."""
    lines = ir.split("\n")
    types = {found[1]: found[2] for line in lines if (found := _NAMED_TYPE.match(line))}
    theirs, names = {each.subprogram for each in Module(ir).users_functions()}, dict[str, int]()
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    for start, end in pairwise([*starts, len(lines)]):
        head = _HEAD.match(lines[start])
        if head is None or head[1] not in theirs:
            continue
        made = {found[1]: found[2] for line in lines[start:end] if (found := _ALLOCA.match(line))}
        for index in range(start, end):
            if (born := _BORN.match(lines[index])) and born[1] in made:
                number = names.setdefault(plain(born[1]), len(names))
                births = _births(born[1], made[born[1]], types, f"@mb.birth.{number}", born[2])
                lines[index] += "".join(f"\n{line}" for line in births)
    lines += (name_constant(f"@mb.birth.{number}", name) for name, number in names.items())
    return "\n".join(lines)


def _births(
    variable: str, type_: str, types: Mapping[str, str], name: str, place: str
) -> Iterator[str]:
    leaves = list(_leaves(type_, types))
    if len(leaves) > _MOST_LEAVES:
        return
    of = variable[1:]
    for number, (path, scalar) in enumerate(leaves):
        value, at = f"%mb.value.{of}.{number}", f"%mb.at.{of}.{number}"
        indices = "".join(f", i32 {each}" for each in (0, *path))
        yield f"  {value} = call {scalar} @mb_nothing_{scalar}(ptr {name}){place}"
        yield f"  {at} = getelementptr {type_}, ptr {variable}{indices}{place}"
        yield f"  store {scalar} {value}, ptr {at}, align 1{place}"


def _leaves(type_: str, types: Mapping[str, str]) -> Iterator[tuple[tuple[int, ...], str]]:
    """The numbers in a type, each with the way to it; more than can be used of a large one."""
    if type_ in _SCALARS:
        yield (), type_
        return
    array = _ARRAY.match(type_)
    members = (
        [array[2]] * min(int(array[1]), _MOST_LEAVES + 1)
        if array
        else _members(types.get(type_, type_))
    )
    for number, member in enumerate(members):
        for path, scalar in _leaves(member, types):
            yield (number, *path), scalar


def _members(type_: str) -> list[str]:
    """Of `{ float, [2 x i32] }`; none of what is no struct."""
    if not type_.startswith("{"):
        return []
    members, depth, quoted = [""], 0, False
    for letter in type_[1:-1]:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{<") - (letter in "]}>")
        if letter == "," and depth == 0 and not quoted:
            members.append("")
        else:
            members[-1] += letter
    return [each.strip() for each in members]


def as_checked(ir: str) -> str:
    """The module once values are followed, for the passes of all checked builds.

    What runs when the code is loaded, to count branches, has no thread to follow.
    """
    ir = ir.replace(" sanitize_memory", " sanitize_address")
    return placed(_AT_LOADING.sub(r"\1\n  ret void\n}", ir))


def with_followed_results(ir: str) -> str:
    """Return the module without instructions whose results MemorySanitizer's pass does not follow.

    With `-fsanitize=signed-integer-overflow` a sum is a part of what `llvm.sadd.with.overflow`
    returns, marked `!nosanitize`. The pass takes whatever has that mark for given. It knows `add`,
    so the sum becomes one; the intrinsic stays for the overflow bit alone. All other instructions
    with the mark compute conditions of checks, which no kernel sees.

    Of `llvm.fptosi.sat` the pass reports the operand, though nothing is decided by it. So it gets
    the mark, and the shadow of its operand comes from `x ^ x`, which is 0: as one bit, which lacks
    a value if any bit does, and then as wide as the result. One of the two has the mark, so that
    they are not the same to LLVM, which knows what `x ^ x` is.
    """
    lines = ir.split("\n")
    metadata, mark = Metadata(lines), ""
    pairs: dict[str, re.Match[str]] = {}
    for index, line in enumerate(lines):
        if line.startswith("define "):
            pairs = {}
        elif ".with.overflow." in line and (found := _CHECKED_ARITHMETIC.match(line)):
            pairs[found[1]] = found
        elif (
            " = extractvalue " in line
            and (result := _RESULT.match(line))
            and (pair := pairs.get(result["pair"]))
        ):
            rest = _NOT_SANITIZED.sub("", result["rest"])
            operation = f"{pair['op']} {pair['type']} {pair['left']}, {pair['right']}"
            lines[index] = f"  {result['value']} = {operation}{rest}"
        elif "i.sat." in line and (conversion := _CONVERSION.match(line)):
            mark = mark or metadata.add("!{}")
            lines[index] = "\n".join(_followed_conversion(conversion, mark))
    return "\n".join([*lines, *metadata.added])


def _followed_conversion(conversion: re.Match[str], mark: str) -> Iterator[str]:
    value, to, source = conversion.group("value", "to", "from")
    place = _PLACED.search(conversion["rest"])
    at = place[0] if place else ""
    lanes, _, element = source.rpartition(" ")
    bits = _BITS[element.rstrip(">")]

    def vector(type_: str) -> str:
        return f"{lanes} {type_}>" if lanes else type_

    # A number as the name of a value must come in order.
    name = f"%mb.to.{value[1:]}"
    whole, one, zero = vector(bits), vector("i1"), "zeroinitializer" if lanes else "0"
    yield (
        f"  {name} = call {to} @llvm.{conversion['call']}({source} {conversion['operand']})"
        f"{at}, !nosanitize {mark}"
    )
    yield f"  {name}.bits = bitcast {source} {conversion['operand']} to {whole}{at}"
    yield (
        f"  {name}.given = bitcast {source} {conversion['operand']} to {whole}{at}"
        f", !nosanitize {mark}"
    )
    yield f"  {name}.none = xor {whole} {name}.bits, {name}.given{at}"
    yield f"  {name}.any = icmp ne {whole} {name}.none, {zero}{at}"
    yield f"  {name}.all = sext {one} {name}.any to {to}{at}"
    yield f"  {value} = xor {to} {name}, {name}.all{at}"


def placed(ir: str) -> str:
    """Return the module with a debug location at every call in functions that have lines.

    One inlinable call without a location is enough for LLVM to drop all debug information of a
    module when it reads it, and with it the lines of all findings. A call that a pass has added
    without a location gets that of the instruction before it in its block, else of the one after
    it, else line 0 of the function.
    """
    lines = ir.split("\n")
    metadata, scope, nowhere = Metadata(lines), "", ""
    place, waiting = "", list[int]()

    def settle(found: str) -> None:
        for each in waiting:
            lines[each] += f", !dbg {found}"
        waiting.clear()

    for index, line in enumerate(lines):
        if line.startswith("define "):
            head = _HEAD.match(line)
            scope, nowhere, place = head[1] if head else "", "", ""
        elif not scope:
            continue
        elif line == "}" or _LABEL.match(line):
            if waiting:
                nowhere = nowhere or metadata.add(f"!DILocation(line: 0, scope: {scope})")
                settle(nowhere)
            place = ""
            scope = "" if line == "}" else scope
        elif found := _PLACED.search(line):
            place = found[1]
            settle(place)
        elif _CALL.match(line) and "@llvm." not in line:
            waiting.append(index)
            if place:
                settle(place)
    return "\n".join([*lines, *metadata.added])
