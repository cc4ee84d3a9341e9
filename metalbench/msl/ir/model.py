"""A function of LLVM IR: blocks of instructions on typed values.

A function of a `Module` (msl/ir/module.py) is lossless and lazy. Its blocks are made at the first
access to them, and the operands of an instruction at the first access to one of its fields. What
does not change is printed as it was read. So an instruction of a module changes by its methods and
by `Rewriter` (msl/ir/rewriter.py), never by an assignment to one of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from metalbench.msl.ir.text import IrError, closing, split
from metalbench.msl.ir.types import POINTER, VOID, Layout, Type, take_type

_INTEGER = re.compile(r"-?\d+$")
# A local value, a block or a named type; the other alternative is a string.
_NAME = re.compile(r'(%(?:"[^"]*"|[-\w.$]+))|"[^"]*"')
_GLOBAL_NAME = re.compile(r'(@(?:"[^"]*"|[-\w.$]+))|"[^"]*"')
# Attributes between the type and the value of an operand.
_ATTRIBUTES = r"(?:[a-z_]+(?:\([^)]*\)| \d+)? )*?"
_ATTACHMENT = re.compile(r", !([\w.]+) (!\d+|!\{[^}]*\}|!DI\w+\([^)]*\))")
_ALIGNMENT = re.compile(r", align (\d+)")
_SUBPROGRAM = re.compile(r" !dbg (!\d+)")
_ATOMIC_UPDATES = (" = atomicrmw ", " = cmpxchg ")
_UNLOCATED = re.compile(r"^ (?:[^\n]* |)call (?![^\n]*(?:, !dbg |@llvm\.))", re.M)
_CALLED = re.compile(r'@("[^"]*"|[\w.$-]+)\(')
_CALL_IN_TEXT = re.compile(r'call [^\n@]*@("[^"\n]*"|[\w.$-]+)\(')
# Addresses and types that need no reading of the whole instruction.
_ADDRESS = re.compile(r", ptr (%[-\w.$]+), align ")
_ACCESS = re.compile(r"\b(?:load|store) (?:atomic )?(?:volatile )?")
_BASE = re.compile(r", ptr (%[-\w.$]+)(?:,|$)")
_STRING = re.compile(r'"[^"]*"')
_REFERENCE = re.compile(r"!\d+")
_RECORDED_ADDRESS = re.compile(r"\bptr (%[-\w.$]+), !")
_BYTES_BEHIND = re.compile(r"\bdereferenceable\((\d+)\)")
LINKAGES = frozenset(
    {
        *("private", "internal", "available_externally", "linkonce", "weak", "common", "external"),
        *("appending", "extern_weak", "linkonce_odr", "weak_odr"),
    }
)
_TRAITS = frozenset({"section", "partition", "gc", "prefix", "prologue", "personality"})
# A call with attributes or values in front of the first name, or a jump like a call.
_INDIRECT = re.compile(
    r"^ (?:[^\n]* |)(?:call (?![^\n@%(\"]*@)|(?:invoke|callbr|indirectbr) )", re.M
)
_GROUPS = re.compile(r" (#\d+)(?= )")


def _has(target: object, name: str) -> bool:
    """Return whether a field is set."""
    try:
        object.__getattribute__(target, name)
    except AttributeError:
        return False
    return True


def _unset(target: object, names: Iterable[str]) -> None:
    """Forget fields, for them to be set again at the next access."""
    for name in names:
        if _has(target, name):
            object.__delattr__(target, name)


def rename_locals(text: str, names: Mapping[str, str]) -> str:
    """Return a text of IR with other local values and blocks, each with `%`; strings stay."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


def rename_globals(text: str, names: Mapping[str, str]) -> str:
    """Return a text of IR with other variables and functions, each with `@`; strings stay."""
    if not any(each in text for each in names):
        return text
    return _GLOBAL_NAME.sub(lambda found: names.get(found[0], found[0]), text)


class Value(NamedTuple):
    """An operand: `%name` of the function, `@name` of the module, or a constant."""

    type: Type
    text: str

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    @property
    def is_local(self) -> bool:
        """Return whether it is the result of an instruction or a parameter."""
        return self.text.startswith("%")

    @property
    def is_undefined(self) -> bool:
        """Return whether it is `undef` or `poison`."""
        return self.text in ("undef", "poison")

    @property
    def integer(self) -> int | None:
        """Return the number of an integer constant, signed as written; None for other values."""
        if self.text in ("true", "false"):
            return int(self.text == "true")
        return int(self.text) if _INTEGER.match(self.text) else None


@dataclass(slots=True, kw_only=True, eq=False)
class Instruction:
    """`result` is empty where nothing comes out; `type` is the result's.

    `flags` are words such as `nuw` and `nnan`; `place` is the reference to the source's line.
    `text` is what an instruction of a module was read from, and is printed as. It is empty for an
    instruction that was made of its fields. Compared by identity.
    """

    # Sets all fields of an instruction from its text. Set by read.py.
    read: ClassVar[Callable[[Instruction], None]]

    opcode: str
    result: str = ""
    type: Type = VOID
    operands: tuple[Value, ...] = ()
    flags: tuple[str, ...] = ()
    place: str = ""
    text: str = ""
    layout: Layout | None = None

    def __getattr__(self, name: str) -> Any:
        """Read the text at the first access to a field that is not set yet."""
        if name.startswith("_") or name in ("text", "layout", "read") or not self.text:
            raise AttributeError(name)
        if name == "place":
            self.place = self.attachment("dbg")
        else:
            self.read()
        return object.__getattribute__(self, name)

    def __str__(self) -> str:
        """Return the text that the instruction was read from. Raises IrError if there is none."""
        if not self.text:
            raise IrError(f"an instruction without text: {self.opcode}")
        return self.text

    @property
    def names(self) -> list[str]:
        """Return the local values, blocks and named types among its operands, in their order."""
        text = self.text.partition(" = ")[2] if self.result else self.text
        return [each for each in _NAME.findall(text) if each]

    @property
    def globals(self) -> list[str]:
        """Return the names of variables and functions among its operands, each with `@`."""
        return [each for each in _GLOBAL_NAME.findall(self.text) if each]

    def replace_operand(self, operand: Value, by: Value) -> None:
        """Replace an operand by another value, of any type. Raises IrError without such operand.

        Constant expressions that have the operand among their own change as well.
        """
        type_, text = re.escape(str(operand.type)), re.escape(operand.text)
        behind = "" if operand.text.endswith(")") else r"(?![-\w.$])"
        # A constant such as `false` or `8` is neither a part of a name nor an alignment.
        before = r"(?<![-\w.$%@!])(?<!align )"

        def replace(found: re.Match[str]) -> str:
            return by.text if found[1] is None else f"{by.type} {found[1]}{by.text}"

        changed = re.sub(
            rf"(?:\b{type_} ({_ATTRIBUTES}))?{before}{text}{behind}", replace, self.text
        )
        if changed == self.text:
            raise IrError(f"no operand {operand}: {self.text.strip()!r}")
        self.set_text(changed)

    def attachment(self, kind: str) -> str:
        """Return the metadata that is attached by a name such as `nosanitize`, or ""."""
        at = self.text.find(f", !{kind} ")
        found = _ATTACHMENT.match(self.text, at) if at >= 0 else None
        return found[2] if found else ""

    @property
    def located(self) -> str:
        """Return the attachment of its debug location, as it ends an instruction's text, or ""."""
        return f", !dbg {self.place}" if self.place else ""

    @property
    def attachments(self) -> str:
        """Return the text of all metadata that is attached to it, or ""."""
        at = self.text.find(", !")
        return self.text[at:] if at >= 0 else ""

    def set_operands(self, first: str, second: str) -> None:
        """Take other operands. Raises IrError if it is not an operation on two of its own type."""
        if {each.type for each in self.operands} != {self.type} or len(self.operands) != 2:
            raise IrError(f"no operation on two values: {self.text.strip()!r}")
        words = " ".join([self.opcode, *self.flags, str(self.type)])
        self.set_text(f"  {self.result} = {words} {first}, {second}{self.attachments}")

    def attach(self, kind: str, reference: str) -> None:
        """Attach metadata by a name under which nothing is attached yet."""
        self.set_text(f"{self.text}, !{kind} {reference}")

    def detach(self, kind: str) -> None:
        """Remove the metadata that is attached by a name, if there is any."""
        at = self.text.find(f", !{kind} ")
        found = _ATTACHMENT.match(self.text, at) if at >= 0 else None
        if found:
            self.set_text(f"{self.text[:at]}{self.text[found.end() :]}")

    def set_text(self, text: str) -> None:
        """Become another instruction of the same class. Raises IrError for one of another class."""
        class_, opcode, result = _begin_of(text)
        if class_ is not type(self):
            raise IrError(f"{text.strip()!r} takes the place of {self.text.strip()!r}")
        _unset(self, ("place", "alignment"))
        if _has(self, "operands"):
            _unset(self, field_names(class_))
        self.text, self.opcode, self.result = text, opcode, result

    def rename(self, names: Mapping[str, str]) -> None:
        """Replace local values and blocks by others, in its operands and as its result."""
        changed = rename_locals(self.text, names)
        if changed != self.text:
            self.set_text(changed)


@dataclass(slots=True, kw_only=True, eq=False)
class Compare(Instruction):
    """`icmp` and `fcmp`."""

    predicate: str


@dataclass(slots=True, kw_only=True, eq=False)
class ElementPointer(Instruction):
    """`getelementptr`: the base, then the indices, into elements of the type `element`."""

    element: Type

    @property
    def base(self) -> Value:
        """Return the pointer that it is computed from."""
        if self.text and not _has(self, "operands"):
            found = _BASE.search(self.text)
            if found:
                return Value(POINTER, found[1])
        return self.operands[0]


@dataclass(slots=True, kw_only=True, eq=False)
class Memory(Instruction):
    """`load` (the address) and `store` (the value, the address); `ordering` of atomic ones."""

    alignment: int = 1
    volatile: bool = False
    ordering: str = ""

    def __getattr__(self, name: str) -> Any:
        """Read the alignment by itself, as passes ask for that of every access. Raises IrError."""
        if name == "alignment" and self.text:
            self.alignment = int(self._find_alignment()[1])
            return self.alignment
        return Instruction.__getattr__(self, name)

    @property
    def address(self) -> Value:
        """Return the pointer that is accessed."""
        if self.text and not _has(self, "operands"):
            found = _ADDRESS.search(self.text)
            if found:
                return Value(POINTER, found[1])
        return self.operands[-1]

    @property
    def accessed(self) -> Type:
        """Return the type of the value in memory. Raises IrError."""
        if self.text and not _has(self, "operands"):
            found = _ACCESS.search(self.text)
            if found is None:
                raise IrError(f"no access: {self.text.strip()!r}")
            return take_type(self.text[found.end() :])[0]
        return self.type if self.opcode == "load" else self.operands[0].type

    @property
    def is_atomic(self) -> bool:
        """Return whether it has an ordering."""
        return f"{self.opcode} atomic " in self.text if self.text else bool(self.ordering)

    def set_alignment(self, alignment: int) -> None:
        """Promise another alignment. Raises IrError if its text has none."""
        found = self._find_alignment()
        self.text = f"{self.text[: found.start()]}, align {alignment}{self.text[found.end() :]}"
        self.alignment = alignment

    def _find_alignment(self) -> re.Match[str]:
        at = self.text.rfind(", align ")
        found = _ALIGNMENT.match(self.text, at) if at >= 0 else None
        if found is None:
            raise IrError(f"no alignment: {self.text.strip()!r}")
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class Alloca(Instruction):
    """`alloca`; of a number that is not known before it runs, `count` is that."""

    allocated: Type
    alignment: int = 1
    count: Value | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Phi(Instruction):
    """`phi`: an operand for each of the blocks that it may come from."""

    sources: tuple[str, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Terminator(Instruction):
    """`br`, `switch`, `ret`, `unreachable`; of a switch `cases`, and the default target first."""

    targets: tuple[str, ...] = ()
    cases: tuple[int, ...] = ()
    loop: str = ""  # the reference to what is said of a loop, of a back edge


@dataclass(slots=True, kw_only=True, eq=False)
class CallInstruction(Instruction):
    """`call`; `callee` is `@name` or a local value, or inline assembly."""

    callee: str
    before: str = ""  # attributes of the result, and the calling convention
    attributes: str = ""  # of the call itself, such as `#3`
    parameters: tuple[str, ...] = ()  # attributes of each operand

    @property
    def name(self) -> str:
        """Return the name of the called function without `@`; empty for a called pointer."""
        if self.text and not _has(self, "callee") and " asm " not in self.text:
            found = _CALLED.search(self.text)
            return found[1] if found else ""
        return self.callee[1:] if self.callee.startswith("@") else ""

    def set_name(self, name: str) -> None:
        """Call another function, by its name without `@`. Raises IrError for a called pointer."""
        if not self.name:
            raise IrError(f"no function is called: {self.text.strip()!r}")
        self.set_text(self.text.replace(f"@{self.name}(", f"@{name}(", 1))

    @property
    def is_direct(self) -> bool:
        """Return whether it calls a function by its name. Raises IrError."""
        text = self.text.partition(" = ")[2] if self.result else self.text
        before, at, _ = text.partition("@")
        # Without attributes and other values before the name, it is the function's.
        return bool(at and not {"%", "(", '"'} & {*before}) or self.callee.startswith("@")

    @property
    def is_assembly(self) -> bool:
        """Return whether it is inline assembly. Raises IrError."""
        return " asm " in self.text and self.callee.startswith("asm ")

    def set_arguments(self, operands: Sequence[Value], parameters: Sequence[str]) -> None:
        """Pass other arguments, each with its attributes."""
        given = [
            f"{value.type} {attributes} {value.text}" if attributes else str(value)
            for value, attributes in zip(operands, parameters, strict=True)
        ]
        begin = self.text.index(f"{self.callee}(") + len(self.callee)
        end = closing(self.text, begin)
        self.set_text(f"{self.text[:begin]}({', '.join(given)}{self.text[end:]}")


@dataclass(slots=True, kw_only=True, eq=False)
class Part(Instruction):
    """`extractvalue` and `insertvalue`: where in the struct or array."""

    indices: tuple[int, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Shuffle(Instruction):
    """`shufflevector`: which element of both operands goes where; -1 is any."""

    mask: tuple[int, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Atomic(Instruction):
    """`atomicrmw` (`operation` is `add` and so on), `cmpxchg`, `fence`; `orderings` as written."""

    operation: str = ""
    orderings: tuple[str, ...] = ()
    volatile: bool = False
    weak: bool = False
    alignment: int = 0
    scope: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class DebugRecord(Instruction):
    """`#dbg_declare`, `#dbg_value`: for debuggers. It does not count as a use of a value."""

    @property
    def variable(self) -> str:
        """Return the reference to the description of its variable, or ""."""
        found = _REFERENCE.search(self.text)
        return found[0] if found else ""

    @property
    def address(self) -> str:
        """Return the local pointer to the memory of the variable; empty for one in registers."""
        found = _RECORDED_ADDRESS.search(self.text)
        return found[1] if found and self.opcode in ("#dbg_declare", "#dbg_assign") else ""


_CLASSES: dict[str, type[Instruction]] = {
    **dict.fromkeys(("icmp", "fcmp"), Compare),
    **dict.fromkeys(("load", "store"), Memory),
    **dict.fromkeys(("br", "switch", "ret", "unreachable"), Terminator),
    **dict.fromkeys(("extractvalue", "insertvalue"), Part),
    **dict.fromkeys(("atomicrmw", "cmpxchg", "fence"), Atomic),
    "getelementptr": ElementPointer,
    "alloca": Alloca,
    "phi": Phi,
    "call": CallInstruction,
    "shufflevector": Shuffle,
}


_FIELDS: dict[type, tuple[str, ...]] = {}


def field_names(class_: type) -> tuple[str, ...]:
    """Return the names of the fields that are read from an instruction's text."""
    if class_ not in _FIELDS:
        names = (each.name for each in fields(class_))
        _FIELDS[class_] = tuple(each for each in names if each not in ("text", "layout"))
    return _FIELDS[class_]


_new = object.__new__
_BEGIN = re.compile(r'\s*(?:(%(?:"[^"]*"|[-\w.$]+)) = )?(#?\w+)')
_CALL_MARKERS = frozenset({"tail", "musttail", "notail"})


def lazy_instruction(text: str, layout: Layout | None = None) -> Instruction:
    """Return the instruction of a text. Its operands are read at the first access to one."""
    class_, opcode, result = _begin_of(text)
    made: Instruction = _new(class_)
    made.text = text
    made.result = result
    made.opcode = opcode
    made.layout = layout
    return made


def _begin_of(text: str) -> tuple[type[Instruction], str, str]:
    """Return the class, the opcode and the result of an instruction. Raises IrError."""
    found = _BEGIN.match(text)
    if found is None:
        raise IrError(f"no instruction: {text!r}")
    result, opcode = found.groups("")
    class_ = _CLASSES.get(opcode)
    if class_ is not None:
        return class_, opcode, result
    if opcode in _CALL_MARKERS:
        return CallInstruction, "call", result
    return (DebugRecord if opcode[0] == "#" else Instruction), opcode, result


@dataclass(slots=True, eq=False)
class BasicBlock:
    """Instructions in order; the last one is a Terminator. Compared by identity.

    `head` is the text of the label with the lines before it; empty for an entry without a label.
    """

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    predecessors: list[BasicBlock] = field(default_factory=list)
    successors: list[BasicBlock] = field(default_factory=list)
    head: str = ""
    function: Function | None = None

    def __getattr__(self, name: str) -> Any:
        """Connect the blocks at the first access to predecessors or successors."""
        if name not in ("predecessors", "successors") or self.function is None:
            raise AttributeError(name)
        self.function.connect()
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<BasicBlock {self.name}>"

    @property
    def terminator(self) -> Terminator:
        """Return its last instruction. Raises IrError if that is not a terminator."""
        last = self.instructions[-1]
        if not isinstance(last, Terminator):
            raise IrError(f"{self.name} ends with {last.opcode}")
        return last

    @property
    def phis(self) -> Iterator[Phi]:
        """Yield the phis that it begins with."""
        for each in self.instructions:
            if not isinstance(each, Phi):
                break
            yield each


@dataclass(slots=True, eq=False)
class Function:
    """A definition. `head` is its line, `parameters` its named values; the first block is entered.

    `text` is what a function of a module was read from.
    """

    # Sets `blocks` or `parameters` of a function from its text. Set by read.py.
    read_blocks: ClassVar[Callable[[Function], None]]
    read_parameters: ClassVar[Callable[[Function], None]]

    name: str
    head: str
    parameters: tuple[Value, ...]
    blocks: dict[str, BasicBlock]
    layout: Layout
    text: str = ""
    _users: dict[str, list[Instruction]] = field(init=False)

    def __getattr__(self, name: str) -> Any:
        """Read the text at the first access to a field that is not set yet."""
        if name == "blocks":
            Function.read_blocks(self)
        elif name == "parameters":
            Function.read_parameters(self)
        elif name == "_users":
            self._users = self._find_users()
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __str__(self) -> str:
        """Return the definition's text."""
        if not _has(self, "blocks"):
            return self.head + self.text[self.text.index("\n") :]
        lines = [self.head]
        for block in self.blocks.values():
            if block.head:
                lines.append(block.head)
            lines += [each.text for each in block.instructions]
        return "\n".join([*lines, "}"])

    @property
    def entry(self) -> BasicBlock:
        """Return the block that is entered."""
        return next(iter(self.blocks.values()))

    @property
    def instructions(self) -> Iterator[tuple[BasicBlock, Instruction]]:
        """Yield all instructions, each with its block."""
        for block in self.blocks.values():
            for each in block.instructions:
                yield block, each

    @property
    def subprogram(self) -> str:
        """Return the reference to its description in the debug information, or ""."""
        found = _SUBPROGRAM.search(self.head, self.head.rfind(")"))
        return found[1] if found else ""

    @property
    def traits(self) -> list[str]:
        """Return which of `section`, `personality` and so on are behind its parameters."""
        begin = self.head.index(f"@{self.name}(") + len(f"@{self.name}")
        words = _STRING.sub("", self.head[closing(self.head, begin) :]).split()
        return [each for each in words if each in _TRAITS]

    @property
    def attribute_groups(self) -> list[str]:
        """Return the names of its groups of attributes, such as `#3`."""
        return _GROUPS.findall(self.head, self.head.rfind(")"))

    def set_attribute_group(self, name: str, by: str) -> None:
        """Replace one of its groups of attributes by another one."""
        end = self.head.rfind(")")
        self.head = self.head[:end] + self.head[end:].replace(f" {name} ", f" {by} ", 1)

    @property
    def callees(self) -> set[str]:
        """Return the names of the functions that it calls, but through pointers."""
        if not _has(self, "blocks"):
            return set(_CALL_IN_TEXT.findall(self.text))
        return {
            each.name
            for _, each in self.instructions
            if isinstance(each, CallInstruction) and each.name
        }

    @property
    def has_atomic_updates(self) -> bool:
        """Return whether an instruction reads and changes memory in one atomic step."""
        if not _has(self, "blocks"):
            return any(each in self.text for each in _ATOMIC_UPDATES)
        return any(
            isinstance(each, Atomic) and each.opcode != "fence" for _, each in self.instructions
        )

    @property
    def globals(self) -> set[str]:
        """Return the names of variables and functions that it mentions, each with `@`."""
        return {each for each in _GLOBAL_NAME.findall(str(self)) if each}

    def parameter_bytes(self, at: int) -> int:
        """Return how many bytes may be accessed behind a pointer parameter; 0 if unknown."""
        opening = self.head.index(f"@{self.name}(") + len(self.name) + 1
        texts = split(self.head[opening + 1 : closing(self.head, opening)])
        found = _BYTES_BEHIND.search(texts[at])
        return int(found[1]) if found else 0

    @property
    def linkage(self) -> str:
        """Return its linkage, such as `internal`; empty for one that is visible outside."""
        word = self.head.split(" ", 2)[1]
        return word if word in LINKAGES else ""

    def rename_globals(self, names: Mapping[str, str]) -> None:
        """Replace names of variables and functions, each with `@`, its own name among them."""
        self.head = rename_globals(self.head, names)
        self.name = names.get(f"@{self.name}", f"@{self.name}")[1:]
        if _has(self, "blocks"):
            for _, each in self.instructions:
                changed = rename_globals(each.text, names)
                if changed != each.text:
                    each.set_text(changed)
        else:
            self.text = rename_globals(self.text, names)

    @property
    def length(self) -> int:
        """Return how many lines its instructions have, by which its size is limited."""
        return str(self).count("\n  ")

    def name_unnamed(self, prefix: str) -> None:
        """Name the values and blocks that have numbers: instructions may then change places."""
        defined = [each.text for each in self.parameters] + list(self.blocks)
        defined += [each.result for _, each in self.instructions]
        names = {each: f"%{prefix}{each[1:]}" for each in defined if each[1:].isdigit()}
        blocks: dict[str, BasicBlock] = {}
        for block in self.blocks.values():
            if block.name in names:
                before, newline, label = block.head.rpartition("\n")
                block.head = f"{before}{newline}{prefix}{label}" if label else ""
                block.name = names[block.name]
            block.head = block.head or f"{block.name[1:]}:"
            blocks[block.name] = block
            for each in block.instructions:
                each.rename(names)
        self.head, self.blocks = rename_locals(self.head, names), blocks
        _unset(self, ["parameters"])
        self.forget_derived()

    def mentions(self, word: str) -> bool:
        """Return whether a text is in an instruction. It is quick, and nothing is read for it."""
        if not _has(self, "blocks"):
            return word in self.text
        return any(word in each.text for _, each in self.instructions)

    def substitute(self, lines: re.Pattern[str], by: Callable[[re.Match[str]], str]) -> None:
        """Replace the matches in the lines of its instructions, without reading them.

        A pattern matches within one line. Raise IrError if the instructions have been read.
        """
        if _has(self, "blocks"):
            raise IrError(f"{self.name}: its instructions have been read")
        begin = self.text.index("\n")
        self.text = self.text[:begin] + lines.sub(by, self.text[begin:])

    @property
    def is_read(self) -> bool:
        """Return whether its instructions have been read."""
        return _has(self, "blocks")

    @property
    def has_unlocated_calls(self) -> bool:
        """Return whether a call, but one of an intrinsic, may have no debug location."""
        return _has(self, "blocks") or _UNLOCATED.search(self.text) is not None

    @property
    def may_call_indirectly(self) -> bool:
        """Return whether a call, or a jump like a call, may be of something without a name."""
        return _has(self, "blocks") or _INDIRECT.search(self.text) is not None

    def definitions(self) -> Mapping[str, Instruction]:
        """Return the instructions by their results."""
        return {each.result: each for _, each in self.instructions if each.result}

    def set_body(self, body: str) -> None:
        """Have other blocks, which are read from a text."""
        self.text = f"{self.head}\n{body}\n}}"
        _unset(self, ["blocks", "_users"])

    def connect(self) -> None:
        """Set the predecessors and successors of all blocks from their terminators."""
        for block in self.blocks.values():
            block.predecessors, block.successors = [], []
        for block in self.blocks.values():
            for target in dict.fromkeys(block.terminator.targets):
                block.successors.append(self.blocks[target])
                self.blocks[target].predecessors.append(block)

    def users_of(self, value: str) -> Sequence[Instruction]:
        """Return the instructions that use a local value or a block, each once."""
        return self._users.get(value, ())

    def replace_all_uses(self, value: str, by: str) -> None:
        """Replace a local value or a block by another one, in every operand and debug record."""
        for _, each in self.instructions:
            if value in each.text and value in each.names:
                each.rename({value: by})
        self.forget_derived()

    def forget_derived(self) -> None:
        """Forget what was derived from the instructions: users, predecessors and successors."""
        _unset(self, ["_users"])
        for block in self.blocks.values():
            _unset(block, ["predecessors", "successors"])

    def _find_users(self) -> dict[str, list[Instruction]]:
        found: dict[str, list[Instruction]] = {}
        for _, each in self.instructions:
            if not isinstance(each, DebugRecord):
                for name in dict.fromkeys(each.names):
                    found.setdefault(name, []).append(each)
        return found
