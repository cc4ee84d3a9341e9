"""Report where names and texts of the project leave plain technical English.

    python tools/language.py                   a table of counts for the whole project
    python tools/language.py metalbench/stats  each place of one folder or file

`tests/tools/test_language.py` refuses four faults: phrases of WORDS in docstrings, comments,
messages and pages; functions named by a bare participle (outside of tests and kernels); docstrings
of functions and classes that begin with a relative clause ("What ..."); MAX_CLASSES or more class
names that several modules share. The exit status is 1 for the first three. The rest is advice:
private functions of a few lines that are used once, and functions with more than six parameters.
"""

from __future__ import annotations

import argparse
import ast
import gc
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SEPARATED = (
    "taken?|takes|tells?|told|telling|kept|keeps?|summed|parts|runs?|timed|compared|held|stands?"
    "|them|these|those|which|laid|set|done|measured|times?"
)
_COMPARATIVES = (
    "longer|shorter|more|less|fewer|better|worse|larger|smaller|greater|faster|slower|higher|lower"
    "|earlier|later|newer|older|nearer|further|wider|narrower|other"
)
# Words that follow "a process of its own", and not "the sum of its own elements".
_AFTER_PHRASE = (
    "that|and|in|which|for|to|with|by|as|on|from|at|or|but|is|are|where|if|so|then|than|when|until"
    "|before|after"
)
# Phrases that a reader must read twice, each with what to write in its place.
WORDS = {
    r"told": "given, reported, passed",
    r"heeds?": "follows, uses",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"by turns": "alternately, in alternation",
    r"so many": "a number",
    rf"of (?:its|their) own(?! (?!(?:{_AFTER_PHRASE})\b)\w)": "separate, own",
    r"whoever": "the user, the caller",
    r"nobody": "no user, no caller, nothing",
    r"behind which": "after which",
    r"kept in mind": "remembered, stored",
    rf"(?<![Tt]here )(?:is|are|was|were) no (?!(?:{_COMPARATIVES})\b)\w+": "is not a",
    r"beside(?! (?:each other|one another))": "in addition to, next to",
    # Not of a distance, as in "two elements apart".
    rf"(?:{_SEPARATED}) (?:\w+ )?apart(?! from)": "separately, independent",
}
_WORD = re.compile(rf"\b(?:{'|'.join(f'(?:{each})' for each in WORDS)})\b", re.IGNORECASE)
# Twice as fast as the other, for texts in lower case.
_LOWER_WORD = re.compile(_WORD.pattern)
_EXPRESSION = re.compile(r"{[^{}]*}")
_MARK = re.compile(r"(//|#(?!include)|\"|/?\*).*")
_PRIVATE = re.compile(r"\bdef\s+(_(?!_)\w*)")
# Texts that really mean the word: (path, text of the line).
ALLOWED: tuple[tuple[str, str], ...] = (
    # Results in users' databases begin with this message.
    ("metalbench/kernelbench/candidates/source.py", "from a kernel of its own"),
    ("benchmarks/startup.py", "--beside"),
)
MAX_CLASSES = 15
IRREGULAR = frozenset(
    """
    begun bound brought built caught chosen drawn found given gone grown held kept known laid left
    lost made meant met paid put seen sent shown sought spent split spoken stood sworn taken told
    thrown thought understood won worn woven written
    """.split()  # noqa: SIM905
)
# Verbs that end like a participle, and words that are both.
VERBS = frozenset(
    """
    embed exceed feed heed need proceed put read seed shed speed split succeed
    """.split()  # noqa: SIM905
)
# Names that are used by name elsewhere: by tasks in kernels/, by the generic operations of
# kernelbench (`nn.taken`, names of PyTorch), or by users (`metalbench.puzzle.filled`).
NAMES = frozenset(
    """
    dequantised drawn filled given imported inverted masked_fill normalized patched_mlx quantised
    scaled scaled_dot_product_attention shifted swapped taken tied transposed_convolution
    """.split()  # noqa: SIM905
)
RELATIVE = (
    "What ",
    "Which ",
    "Where ",
    "How ",
    "Why ",
    "Who ",
    "Whether ",
    "Of ",
    "Those ",
    "That ",
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
SUFFIXES = (".py", ".md", ".cpp", ".h", ".mm", ".metal", ".c", ".toml", ".yml", ".sh")


@dataclass(frozen=True, order=True)
class Fault:
    """One place: file, line, rule, and the text with advice."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True)
class Module:
    """A file in Python: its number of lines, and its classes with the line of each.

    It does not keep the tree: the trees of all modules take gigabytes.
    """

    path: str
    lines: int
    classes: tuple[tuple[str, int], ...]


def list_files(paths: list[str]) -> list[str]:
    """Return the tracked files of folders and files, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [each for each in out.splitlines() if each.endswith(SUFFIXES)]
    return [each for each in names if (ROOT / each).is_file()]


def find_words(path: str, text: str) -> Iterator[Fault]:
    """Yield each phrase of WORDS in the texts that a person reads."""
    # No phrase spans lines: most files have none, and their tokens need not be found.
    if not _LOWER_WORD.search(text.lower()):
        return
    for number, line in _lines_of_text(path, text):
        for found in _WORD.finditer(line):
            if any(name == path and part in line for name, part in ALLOWED):
                continue
            yield Fault(path, number, "word", f"{found[0]!r} in: {line.strip()[:100]}")


def _lines_of_text(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments, docstrings and messages of a file; of a page all lines."""
    if path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
                is_f_string = (
                    name == "STRING" and "f" in token.string.partition(token.string[-1])[0].lower()
                )
                for offset, line in enumerate(token.string.splitlines()):
                    # Before Python 3.12 the expressions of an f-string are part of the token.
                    yield (
                        token.start[0] + offset,
                        _EXPRESSION.sub("{}", line) if is_f_string else line,
                    )
    elif path.endswith(".md"):
        yield from enumerate(text.splitlines(), 1)
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if found := _MARK.search(line):
                yield number, found[0]


def is_participle(name: str) -> bool:
    """Return whether a function's name begins with a participle where a verb is expected."""
    first = name.strip("_").partition("_")[0]
    if first in VERBS or name in NAMES:
        return False
    return first in IRREGULAR or (len(first) > 4 and first.endswith("ed"))


def list_definitions(tree: ast.AST) -> list[Definition]:
    """Return the functions and classes of a module, at any depth, the outer ones first."""
    found: list[Definition] = []
    blocks: deque[ast.AST] = deque([tree])
    # Definitions are statements: expressions, which are most of a tree, are not visited.
    while blocks:
        block = blocks.popleft()
        if isinstance(block, Definition):
            found.append(block)
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            children = getattr(block, field, ())
            # The body of a conditional expression or of a lambda is not a list.
            blocks.extend(children if isinstance(children, list) else ())
    return found


def find_names(path: str, tree: ast.AST) -> Iterator[Fault]:
    """Yield functions named by a participle, relative docstrings, and long parameter lists."""
    for node in list_definitions(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(each) for each in node.decorator_list}
            is_value = any("property" in each for each in decorators)
            if not is_value and is_participle(node.name):
                yield Fault(path, node.lineno, "participle", node.name)
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(each.arg not in ("self", "cls") for each in arguments)
            if count > 6:
                yield Fault(path, node.lineno, "parameters", f"{node.name} has {count}")
        first = (ast.get_docstring(node) or "").partition("\n")[0]
        is_value = isinstance(node, ast.FunctionDef) and any(
            "property" in ast.unparse(each) for each in node.decorator_list
        )
        wrong = RELATIVE[:1] if is_value else RELATIVE
        if first.startswith(wrong):
            yield Fault(path, node.lineno, "docstring", f"{node.name}: {first[:90]}")


def find_once(path: str, text: str, tree: ast.AST) -> Iterator[Fault]:
    """Yield private functions of fewer than five lines that their module names once."""
    once = list_used_once(text)
    for node in list_definitions(tree) if once else ():
        if not isinstance(node, ast.FunctionDef) or node.name not in once or node.decorator_list:
            continue
        body = [each for each in node.body if not _is_docstring(each)]
        end = body[-1].end_lineno if body else None
        length = end - body[0].lineno + 1 if end is not None else 0
        if length < 5:
            yield Fault(path, node.lineno, "once", f"{node.name}: {length} lines")


def list_used_once(text: str) -> set[str]:
    """Return the private functions of a module that it names once in addition to the definition."""
    names = set(_PRIVATE.findall(text))
    counts = Counter(re.findall(r"\w+", text)) if names else {}
    return {name for name in names if counts[name] == 2}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def find_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the class names that several modules define, with the modules."""
    found = defaultdict(list)
    for module in modules:
        for name, line in module.classes:
            found[name].append(f"{module.path}:{line}")
    return {name: places for name, places in found.items() if len(places) > 1}


def find_faults(paths: list[str]) -> tuple[list[Fault], list[Module]]:
    """Return all faults of files, and the modules in Python among the files."""
    faults: list[Fault] = []
    modules: list[Module] = []
    # Trees have no cycles, and looking for some takes a third of the time.
    gc.disable()
    for path in list_files(paths):
        if path in ("tools/language.py", "tests/tools/test_language.py"):
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        faults += find_words(path, text)
        if not path.endswith(".py"):
            continue
        # Names of tests are sentences, and kernels are named by what they compute.
        has_free_names = path.startswith(("kernels/", "puzzles/", "tests/"))
        classes: tuple[tuple[str, int], ...] = ()
        # Half of the files have nothing that needs a tree.
        if not has_free_names or "class " in text or list_used_once(text):
            tree = ast.parse(text)
            faults += find_once(path, text, tree)
            if not has_free_names:
                faults += find_names(path, tree)
            nodes = list_definitions(tree)
            classes = tuple((x.name, x.lineno) for x in nodes if isinstance(x, ast.ClassDef))
        modules.append(Module(path, text.count("\n"), classes))
    gc.enable()
    return sorted(faults), modules


def main() -> int:
    """Print faults and counts. Return 1 if a rule that is an error is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="folders or files; all of the project if none")
    arguments = parser.parse_args()
    faults, modules = find_faults(arguments.paths)
    for fault in faults if arguments.paths else ():
        print(fault)
    classes = find_classes(each for each in modules if not each.path.startswith("tests/"))
    for name, places in sorted(classes.items()) if arguments.paths else ():
        print(f"{places[0]}: class: {name} is also in {', '.join(places[1:])}")
    lines = sorted(each.lines for each in modules if "tests/" not in each.path)
    counts = Counter(each.rule for each in faults)
    if lines:
        p90 = lines[int(0.9 * (len(lines) - 1))]
        print(f"Python files {len(lines)}, median {statistics.median(lines):.0f} lines, p90 {p90}")
    rules = ("word", "docstring", "participle", "once", "parameters")
    print(", ".join(f"{rule} {counts[rule]}" for rule in rules), f"class {len(classes)}", sep=", ")
    return int(any(counts[rule] for rule in rules[:3]))


if __name__ == "__main__":
    sys.exit(main())
