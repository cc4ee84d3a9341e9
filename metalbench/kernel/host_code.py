"""Write code that launches an exported kernel: for MLX, in Objective-C++ and in Swift."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metalbench import _core
from metalbench.errors import Unsupported
from metalbench.expression import Expression
from metalbench.kernel.export import ExportedKernel
from metalbench.kernel.header import Dispatch, Kernel, Limit, parse
from metalbench.kernel.host_limits import (
    MOST_SIZE,
    Range,
    make_range,
    write_cpp_call,
    write_cpp_checks,
    write_out_limits,
    write_python_call,
    write_python_checks,
    write_swift_call,
    write_swift_checks,
)
from metalbench.kernel.prepare import compile_kernel
from metalbench.msl.frontend.declarations import (
    Declaration,
    find_attributes,
    parse_declarations,
    skip_attributes,
)
from metalbench.msl.frontend.reflection import find_stage
from metalbench.msl.frontend.tokens import Tokens, is_name, lex
from metalbench.task import Task
from metalbench.task.dtypes import DType

# Metal's names of scalars, in C++ and in Swift, by NumPy's names.
SCALARS = {
    "bool": ("bool", "Bool"),
    "int8": ("int8_t", "Int8"),
    "uint8": ("uint8_t", "UInt8"),
    "int16": ("int16_t", "Int16"),
    "uint16": ("uint16_t", "UInt16"),
    "int32": ("int32_t", "Int32"),
    "uint32": ("uint32_t", "UInt32"),
    "int64": ("int64_t", "Int64"),
    "uint64": ("uint64_t", "UInt64"),
    "float32": ("float", "Float"),
}
CPP, SWIFT = 0, 1


@dataclass(frozen=True)
class HostPlan:
    """The arrays, sizes, constants and launches of an exported kernel, for host code."""

    exported: ExportedKernel
    task: Task
    # The kernel in the exported file, and its functions as the engine reflects them.
    kernel: Kernel
    pipelines: Mapping[str, _core.Pipeline]

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task.name

    @property
    def sizes(self) -> list[str]:
        """The names of sizes that arguments, shapes or grids use."""
        return list(self.task.sizes[self.task.headline])

    @property
    def arrays(self) -> dict[str, DType]:
        """Inputs and outputs with their types; an updated input is there once."""
        updated = [self.task.inout[name] for name in self.kernel.inouts]
        declared = {**self.task.inputs, **self.task.outputs}
        run = self.exported.run
        return {name: each.type_in(run) for name, each in declared.items() if name not in updated}

    @property
    def buffers(self) -> set[str]:
        """The names of all buffers, scratch memory included."""
        return {*self.arrays, *(each.name for each in self.kernel.scratches)}

    @property
    def ranges(self) -> list[Range]:
        """The ranges of sizes, and of constants that launches pass as whole numbers."""
        found = {name: Range(name, 0, MOST_SIZE) for name in self.sizes}
        for line in self.kernel.dispatches:
            for each in self.arguments(line):
                source = line.find_source(each.name)
                if source in _scalar_names(self) and each.element is not None:
                    range_ = make_range(source, each.element)
                    if range_ is not None:
                        found[source] = range_.intersect(found.get(source, range_))
        return list(found.values())

    @property
    def checks(self) -> tuple[str, list[Range], Sequence[Limit]]:
        """The name, the ranges and the limits, as writers of checks take them."""
        return self.name, self.ranges, write_out_limits(self.kernel)

    def find_array(self, line: Dispatch, argument: str) -> str:
        """Return the array that an argument of a launch binds to; empty for a number."""
        source = line.find_source(argument)
        return source if source in self.buffers else ""

    def find_number(self, line: Dispatch, argument: str, language: str) -> str:
        """Return the number that an argument binds to, as an expression of C, Swift or Python."""
        bound = line.arguments.get(argument)
        if bound is None:
            return argument
        return _python(bound) if language == "python" else bound.text.strip()

    def arguments(self, line: Dispatch) -> list[_core.Argument]:
        """Return the arguments of a launch, in their order."""
        return list(self.pipelines[line.function].arguments)


def plan_host_code(exported: ExportedKernel, task: Task) -> HostPlan:
    """Compile the exported text for the `cpu` device and return what host code needs.

    Raise CompileError for a text that does not compile, and DeclarationError for one that does not
    fit `task`.
    """
    path = exported.kernel.path.with_name(f"{task.name}.metal")
    kernel = parse(exported.text, name=task.name, path=path)
    compiled = compile_kernel(_core.open("cpu"), kernel, task, dtype_name=exported.run.name)
    return HostPlan(exported, task, kernel, compiled.pipelines)


# MLX: the bodies of the kernels as `source=`, everything else as `header=`.

_POSITION_PARTS = {"1": ".x", "2": ".xy", "3": ""}
# MLX passes arrays of fewer than eight elements as `constant`, and kernels take `device` pointers.
_PYTHON_HELPERS = """\
def ceil_div(a, b):
    return -(-a // b)


def pad_small(x):
    missing = 8 - x.size
    return x if missing <= 0 else mx.concatenate([x.flatten(), mx.zeros(missing, x.dtype)])
"""


def write_mlx_code(plan: HostPlan, *, make_kernel: str = "mx.fast.metal_kernel") -> str:
    """Return a Python module with a function that runs the kernel by `mx.fast.metal_kernel`.

    `make_kernel` is a name in its place, of a function with the same arguments.

    Raise Unsupported where MLX cannot: it creates the outputs of a kernel and does not let it write
    to inputs. So an array may be written by one launch only.
    """
    _refuse_for_mlx(plan)
    text = plan.exported.text
    tokens = lex(text)
    functions = {
        each.name: each
        for each in parse_declarations(tokens)
        if each.kind == "function" and each.body and find_stage(tokens, each) == "kernel"
    }
    header = _write_mlx_header(tokens, list(functions.values()))
    parts = [
        f'"""{plan.task.description or plan.name}\n\nWritten by `metalbench export`."""\n',
        "import mlx.core as mx\n",
        f'HEADER = r"""\n{header}"""\n',
    ]
    launches = []
    for place, line in enumerate(plan.kernel.dispatches):
        function = functions[line.function]
        variable = f"_{line.function}" if _is_first(plan, place) else ""
        inputs, outputs = _split_arguments(plan, line)
        if variable:
            source = _write_mlx_body(plan, tokens, function, line)
            parts.append(
                f"{variable} = {make_kernel}(\n"
                f'    name="{line.function}",\n'
                f"    input_names={inputs!r},\n"
                f"    output_names={outputs!r},\n"
                f'    header=HEADER,\n    source=r"""\n{source}""",\n)\n'
            )
        launches.append(_write_mlx_launch(plan, line, inputs, outputs))
    parts += [_PYTHON_HELPERS]
    checks = write_python_checks(*plan.checks)
    parts += [checks] if checks else []
    parts += [_write_mlx_function(plan, launches)]
    return "\n".join(parts)


def _refuse_for_mlx(plan: HostPlan) -> None:
    if plan.kernel.inouts:
        names = ", ".join(plan.kernel.inouts)
        raise Unsupported(
            f"[{plan.name}] a kernel of MLX cannot update {names} in place: MLX's arrays are "
            "values; use --host swift or --host objc"
        )
    written: set[str] = set()
    for line in plan.kernel.dispatches:
        outputs = [plan.find_array(line, name) for name in _split_arguments(plan, line)[1]]
        twice = written & set(outputs)
        if twice:
            raise Unsupported(
                f"[{plan.name}] a kernel of MLX creates its outputs, and {line.function} would "
                f"continue {sorted(twice)[0]}; use --host swift or --host objc"
            )
        written |= set(outputs)
        if any(each.kind not in ("buffer",) for each in plan.arguments(line)):
            raise Unsupported(
                f"[{plan.name}] {line.function} takes more than buffers, which MLX does not pass; "
                "use --host swift or --host objc"
            )


def _is_first(plan: HostPlan, place: int) -> bool:
    lines = plan.kernel.dispatches
    return lines[place].function not in [line.function for line in lines[:place]]


def _split_arguments(plan: HostPlan, line: Dispatch) -> tuple[list[str], list[str]]:
    """Return the names of a launch's inputs, sizes included, and of its outputs."""
    arguments = [each for each in plan.arguments(line) if each.kind == "buffer"]
    outputs = [
        each.name
        for each in arguments
        if plan.find_array(line, each.name) and each.access != "read"
    ]
    return [each.name for each in arguments if each.name not in outputs], outputs


def _write_mlx_header(tokens: Tokens, kernels: Sequence[Declaration]) -> str:
    """Return the text without kernels and header lines."""
    text = tokens.source
    for each in sorted(kernels, key=lambda found: -found.first):
        begin, end = tokens.start[each.first], tokens.end(each.last - 1)
        text = text[:begin] + text[end:]
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if not line.startswith("//")), 0)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines[first:])).strip() + "\n"


def _write_mlx_body(plan: HostPlan, tokens: Tokens, function: Declaration, line: Dispatch) -> str:
    """Return the body of a kernel, after definitions of what MLX names or types in another way."""
    assert function.body is not None
    assert function.parameters is not None
    reflected = {each.name: each for each in plan.arguments(line)}
    outer: list[str] = []
    inner: list[str] = []
    first, last = function.parameters
    for begin, end in tokens.split(first + 1, last):
        attributes = find_attributes(tokens, begin, end)
        words = [tokens.text[index] for index in skip_attributes(tokens, begin, end)]
        name = next(word for word in reversed(words) if is_name(word))
        if name in reflected:
            if plan.find_array(line, name):
                # MLX's pointer has the array's element type, which may not be that of the kernel.
                outer.append(f"  auto {name}_of_mlx = {name};")
                pointer = " ".join(words[: len(words) - 1])
                inner.append(f"    {pointer} {name} = ({pointer}){name}_of_mlx;")
            continue
        supplied, kind = attributes[0].name, words[0]
        if supplied == name:
            raise Unsupported(
                f"[{plan.name}] the argument {name} has the name of its attribute; rename it"
            )
        width = kind[-1] if kind[-1] in "23" else "1"
        is_vector = "position" in supplied or ("_per_" in supplied and "simdgroup" not in supplied)
        part = _POSITION_PARTS[width] if is_vector else ""
        outer.append(f"  const {kind} {name} = {kind}({supplied}{part});")
    body = tokens.source[tokens.end(function.body[0]) : tokens.start[function.body[1]]].strip("\n")
    return "\n".join([*outer, "  {", *inner, body.rstrip(), "  }"]) + "\n"


def _write_mlx_launch(
    plan: HostPlan, line: Dispatch, inputs: Sequence[str], outputs: Sequence[str]
) -> str:
    reflected = {each.name: each for each in plan.arguments(line)}
    values = []
    for name in inputs:
        source = plan.find_array(line, name)
        if source:
            values.append(f"pad_small({source})")
        else:
            number = plan.find_number(line, name, "python")
            values.append(f"mx.array({number}, mx.{reflected[name].element})")
    outputs = [plan.find_array(line, name) for name in outputs]
    shapes, types = [], []
    scratches = {each.name: each for each in plan.kernel.scratches}
    for name in outputs:
        array = scratches.get(name) or plan.task.outputs[name]
        shapes.append(f"({', '.join(map(_python, array.shape))},)")
        types.append(f"mx.{_mlx_type(array.type_in(plan.exported.run))}")
    threads = [*map(_python, line.threads), "1", "1"][:3]
    grid = [*map(_python, line.threads_in_grid or line.threadgroups or ()), "1", "1"][:3]
    if line.threadgroups:
        grid = [
            one if other == "1" else f"({one}) * ({other})"
            for one, other in zip(grid, threads, strict=True)
        ]
    names = f"({', '.join(outputs)},)"
    return (
        f"    {names} = _{line.function}(\n"
        f"        inputs=[{', '.join(values)}],\n"
        f"        output_shapes=[{', '.join(shapes)}],\n"
        f"        output_dtypes=[{', '.join(types)}],\n"
        f"        grid=({', '.join(grid)}),\n"
        f"        threadgroup=({', '.join(threads)}),\n"
        "    )\n"
    )


def _write_mlx_function(plan: HostPlan, launches: Sequence[str]) -> str:
    known = dict(_deduce_sizes(plan))
    missing = [name for name in plan.sizes if name not in known]
    keywords = [*missing, *(f"{name}={value!r}" for name, value in plan.task.constants.items())]
    parameters = [*plan.task.inputs, *(["*", *keywords] if keywords else [])]
    lines = [f"    {name} = {source}\n" for name, source in known.items()]
    results = ", ".join(plan.task.outputs)
    named = [f"    {each.name} = {_python(each.value)}\n" for each in plan.kernel.named_sizes]
    return (
        f"def {plan.name}({', '.join(parameters)}):\n"
        f'    """{plan.task.description or plan.name}"""\n'
        f"{''.join(lines)}{write_python_call(*plan.checks)}{''.join(named)}{''.join(launches)}"
        f"    return {results}\n"
    )


def _deduce_sizes(plan: HostPlan) -> Iterator[tuple[str, str]]:
    """Yield sizes that are an extent of an input, with the expression of that extent."""
    seen: set[str] = set()
    for name, array in plan.task.inputs.items():
        for axis, extent in enumerate(array.shape):
            if extent.text in plan.sizes and extent.text not in seen:
                seen.add(extent.text)
                yield extent.text, f"{name}.shape[{axis}]"


def _python(expression: Expression) -> str:
    return expression.text.strip().replace("/", "//")


def _mlx_type(kind: DType) -> str:
    return "bool_" if kind.name == "bool" else kind.name


# Objective-C++ and Swift: pipelines, and a function that encodes all launches.


def _type_name(plan: HostPlan) -> str:
    return "".join(part[:1].upper() + part[1:] for part in plan.name.split("_"))


def _extents(expressions: Sequence[Expression]) -> str:
    return ", ".join([*(each.text.strip() for each in expressions), "1", "1"][:3])


def _bytes(expressions: Sequence[Expression], kind: DType) -> str:
    return " * ".join([*(f"({each.text.strip()})" for each in expressions), str(kind.nbytes)])


def _describe_buffers(plan: HostPlan) -> list[str]:
    """Return a line for each array: its type, shape and role."""
    lines = []
    for name, kind in plan.arrays.items():
        array = plan.task.inputs.get(name) or plan.task.outputs[name]
        role = "input" if name in plan.task.inputs else "output"
        role = "updated in place" if name in plan.kernel.inouts else role
        extents = ", ".join(each.text.strip() for each in array.shape)
        lines.append(f"{name}: {kind.name} ({extents}), {role}")
    return lines


def _functions(plan: HostPlan) -> list[str]:
    return list(dict.fromkeys(line.function for line in plan.kernel.dispatches))


def _scalar_type(argument: _core.Argument, language: int) -> str:
    return SCALARS[argument.element or "uint32"][language]


def _scalar_names(plan: HostPlan) -> list[str]:
    """Return sizes, and constants that arguments or grids use."""
    return [*plan.sizes, *plan.task.constants]


def write_objc_code(plan: HostPlan) -> str:
    """Return Objective-C++, for ARC, that compiles the exported file and encodes its launches."""
    kind = _type_name(plan)
    constants = plan.task.constants
    parameters = [
        *(f"id<MTLBuffer> {name}" for name in plan.arrays),
        *(
            f"float {name}" if isinstance(constants.get(name), float) else f"NSUInteger {name}"
            for name in _scalar_names(plan)
        ),
    ]
    about = "\n".join(f"//   {each}" for each in _describe_buffers(plan))
    fields = "\n".join(f"  id<MTLComputePipelineState> {each};" for each in _functions(plan))
    pipelines = "\n".join(
        f'  kernel->{each} = make(@"{each}");\n  if (kernel->{each} == nil) return false;'
        for each in _functions(plan)
    )
    scratch = "".join(
        f"  id<MTLBuffer> {each.name} =\n      [kernel.device newBufferWithLength:"
        f"{_bytes(each.shape, each.type_in(plan.exported.run))}\n"
        "                                 options:MTLResourceStorageModePrivate];\n"
        for each in plan.kernel.scratches
    )
    named = "".join(
        f"  [[maybe_unused]] const NSUInteger {each.name} = {each.value.text.strip()};\n"
        for each in plan.kernel.named_sizes
    )
    launches = "".join(_write_objc_launch(plan, line) for line in plan.kernel.dispatches)
    check = write_cpp_call(*plan.checks)
    fast = "YES" if plan.kernel.math == "fast" else "NO"
    return f"""\
// {plan.task.description or plan.name}
// Written by `metalbench export`, for {plan.name}.metal. Compile it with -fobjc-arc.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct {kind} {{
  id<MTLDevice> device;
{fields}
}};

// Compiles the text of {plan.name}.metal. Returns false, and the compiler's message in `error`.
inline bool compile_{plan.name}(id<MTLDevice> device, NSString* text, {kind}* kernel,
                                NSError** error) {{
  MTLCompileOptions* options = [MTLCompileOptions new];
  options.fastMathEnabled = {fast};
  options.languageVersion = MTLLanguageVersion3_1;
  id<MTLLibrary> library = [device newLibraryWithSource:text options:options error:error];
  if (library == nil) return false;
  auto make = [&](NSString* name) -> id<MTLComputePipelineState> {{
    id<MTLFunction> function = [library newFunctionWithName:name];
    if (function == nil) return nil;
    return [device newComputePipelineStateWithFunction:function error:error];
  }};
  kernel->device = device;
{pipelines}
  return true;
}}

{write_cpp_checks(*plan.checks)}
// Encodes all launches, one after the other. Returns false, and what is wrong in `error`, for sizes
// and constants that the kernel is not made for; nothing is encoded then. Buffers, row by row
// without gaps:
{about}
inline bool encode_{plan.name}(const {kind}& kernel, id<MTLCommandBuffer> commands,
                               {", ".join(parameters)},
                               [[maybe_unused]] NSError** error) {{
{check}\
  [[maybe_unused]] auto ceil_div = [](NSUInteger a, NSUInteger b) {{ return (a + b - 1) / b; }};
  [[maybe_unused]] auto min = [](NSUInteger a, NSUInteger b) {{ return std::min(a, b); }};
  [[maybe_unused]] auto max = [](NSUInteger a, NSUInteger b) {{ return std::max(a, b); }};
{named}  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
{scratch}{launches}  [encoder endEncoding];
  return true;
}}
"""


def _write_objc_launch(plan: HostPlan, line: Dispatch) -> str:
    text = [f"  [encoder setComputePipelineState:kernel.{line.function}];"]
    for each in plan.arguments(line):
        if each.kind == "threadgroup":
            size = line.threadgroup_bytes[each.name].text.strip()
            text.append(f"  [encoder setThreadgroupMemoryLength:{size} atIndex:{each.index}];")
        elif array := plan.find_array(line, each.name):
            text.append(f"  [encoder setBuffer:{array} offset:0 atIndex:{each.index}];")
        else:
            kind, number = _scalar_type(each, CPP), plan.find_number(line, each.name, "c")
            text.append(
                f"  {{\n    const {kind} value = {kind}({number});\n"
                f"    [encoder setBytes:&value length:sizeof(value) atIndex:{each.index}];\n  }}"
            )
    call = "dispatchThreads" if line.threads_in_grid else "dispatchThreadgroups"
    grid = _extents(line.threads_in_grid or line.threadgroups or ())
    text.append(
        f"  [encoder {call}:MTLSizeMake({grid})\n"
        f"      threadsPerThreadgroup:MTLSizeMake({_extents(line.threads)})];"
    )
    return "\n".join(text) + "\n"


def write_swift_code(plan: HostPlan) -> str:
    """Return Swift that compiles the exported file and encodes its launches."""
    kind = _type_name(plan)
    constants = plan.task.constants
    parameters = [
        *(f"{name}: MTLBuffer" for name in plan.arrays),
        *(
            f"{name}: Float = {constants[name]}"
            if isinstance(constants.get(name), float)
            else f"{name}: Int" + (f" = {constants[name]}" if name in constants else "")
            for name in _scalar_names(plan)
        ),
    ]
    about = "\n".join(f"  ///   {each}" for each in _describe_buffers(plan))
    fields = "\n".join(
        f"  private let {each}: MTLComputePipelineState" for each in _functions(plan)
    )
    pipelines = "\n".join(f'    {each} = try make("{each}")' for each in _functions(plan))
    scratch = "".join(
        f"    let {each.name} = device.makeBuffer(\n      length: "
        f"{_bytes(each.shape, each.type_in(plan.exported.run))}, options: .storageModePrivate)\n"
        for each in plan.kernel.scratches
    )
    named = "".join(
        f"    let {each.name} = {each.value.text.strip()}\n" for each in plan.kernel.named_sizes
    )
    launches = "".join(_write_swift_launch(plan, line) for line in plan.kernel.dispatches)
    joined = ",\n    ".join(parameters)
    return f"""\
// {plan.task.description or plan.name}
// Written by `metalbench export`, for {plan.name}.metal.
import Metal

struct {kind} {{
  private let device: MTLDevice
{fields}

  /// Compiles the text of {plan.name}.metal; throws the compiler's message.
  init(device: MTLDevice, text: String) throws {{
    let options = MTLCompileOptions()
    options.fastMathEnabled = {str(plan.kernel.math == "fast").lower()}
    options.languageVersion = .version3_1
    let library = try device.makeLibrary(source: text, options: options)
    func make(_ name: String) throws -> MTLComputePipelineState {{
      try device.makeComputePipelineState(function: library.makeFunction(name: name)!)
    }}
    self.device = device
{pipelines}
  }}

{write_swift_checks(*plan.checks)}
  /// Encodes all launches, one after the other. Throws for sizes and constants that the kernel is
  /// not made for; nothing is encoded then. Buffers, row by row without gaps:
{about}
  func encode(
    _ commands: MTLCommandBuffer,
    {joined}
  ) throws {{
{write_swift_call(*plan.checks)}    func ceil_div(_ a: Int, _ b: Int) -> Int {{ (a + b - 1) / b }}
{named}    let encoder = commands.makeComputeCommandEncoder()!
{scratch}{launches}    encoder.endEncoding()
  }}
}}
"""


def _write_swift_launch(plan: HostPlan, line: Dispatch) -> str:
    text = [f"    encoder.setComputePipelineState({line.function})"]
    for each in plan.arguments(line):
        if each.kind == "threadgroup":
            size = line.threadgroup_bytes[each.name].text.strip()
            text.append(f"    encoder.setThreadgroupMemoryLength({size}, index: {each.index})")
        elif array := plan.find_array(line, each.name):
            text.append(f"    encoder.setBuffer({array}, offset: 0, index: {each.index})")
        else:
            kind, number = _scalar_type(each, SWIFT), plan.find_number(line, each.name, "swift")
            text.append(
                f"    withUnsafeBytes(of: {kind}({number})) {{\n      encoder.setBytes("
                f"$0.baseAddress!, length: $0.count, index: {each.index})\n    }}"
            )
    call = "dispatchThreads" if line.threads_in_grid else "dispatchThreadgroups"
    grid = _extents(line.threads_in_grid or line.threadgroups or ())
    text.append(
        f"    encoder.{call}(\n      MTLSizeMake({grid}),\n"
        f"      threadsPerThreadgroup: MTLSizeMake({_extents(line.threads)}))"
    )
    return "\n".join(text) + "\n"


# Extension of the file and writer of each host.
HOSTS = {
    "mlx": (".py", write_mlx_code),
    "objc": (".mm", write_objc_code),
    "swift": (".swift", write_swift_code),
}
