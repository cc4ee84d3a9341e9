#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

// One device, number 0: a DeviceAssignmentProto of one replica and one computation.
constexpr char kAssignment[] = {0x08, 1, 0x10, 1, 0x1a, 3, 0x0a, 1, 0};
constexpr std::string_view kFormat = "mlir";

const Compiled& of(const Executable* executable) {
  return *given(executable, "an executable").compiled;
}

const Compiled& of(const LoadedExecutable* executable) {
  return *given(executable, "an executable").compiled;
}

template <class Item>
Item attribute(const nb::object& program, const char* name) {
  return nb::cast<Item>(program.attr(name));
}

std::string bytes_of(const nb::object& program, const char* name) {
  const auto bytes = nb::borrow<nb::bytes>(program.attr(name));
  return {bytes.c_str(), bytes.size()};
}

nb::bytes to_python(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

void compile(Compile& arguments) {
  Client& client = given(arguments.client, "a client");
  const Program& program = given(arguments.program, "a program");
  const std::string_view format = given_bytes(program.format, program.format_size, "a format");
  if (format != kFormat) {
    throw Failure(Code::kUnimplemented,
                  "program: expected the format mlir, got " + std::string(format));
  }
  const std::string_view code = given_bytes(program.code, program.code_size, "code");
  const std::string_view options =
      given_bytes(arguments.options, arguments.options_size, "compile options");
  const WithGil held;
  const nb::object made = client.runtime.get().attr("compile")(to_python(code), to_python(options));
  arguments.executable = compiled_by(client, made).release();
}

void load(DeserializeAndLoad& arguments) {
  Client& client = given(arguments.client, "a client");
  const std::string_view bytes = given_bytes(arguments.bytes, arguments.size, "an executable");
  const WithGil held;
  const nb::object made = client.runtime.get().attr("load")(to_python(bytes));
  arguments.executable = compiled_by(client, made).release();
}

void destroy_executable(Only<Executable>& arguments) {
  destroy_given(arguments.of, "an executable");
}

void name(Text<Executable>& arguments) {
  const std::string& found = of(arguments.of).name;
  arguments.text = found.c_str();
  arguments.size = found.size();
}

template <class Of>
void fingerprint(Text<Of>& arguments) {
  const std::string& found = of(arguments.of).fingerprint;
  arguments.text = found.c_str();
  arguments.size = found.size();
}

void one(Ask<Executable, std::size_t>& arguments) {
  of(arguments.of);
  arguments.out = 1;
}

void output_count(Ask<Executable, std::size_t>& arguments) {
  arguments.out = of(arguments.of).types.size();
}

void code_size(Ask<Executable, std::int64_t>& arguments) {
  arguments.out = of(arguments.of).code_bytes;
}

void costs(CostAnalysis& arguments) {
  const Compiled& compiled = of(arguments.executable);
  arguments.count = compiled.costs.size();
  arguments.items = compiled.costs.data();
}

void output_types(List<Executable, int>& arguments) {
  const Compiled& compiled = of(arguments.of);
  arguments.items = compiled.types.data();
  arguments.count = compiled.types.size();
}

void output_dimensions(OutputDimensions& arguments) {
  const Compiled& compiled = of(arguments.executable);
  arguments.count = compiled.types.size();
  arguments.dimensions = compiled.dimensions.data();
  arguments.ranks = compiled.ranks.data();
}

void output_memory_kinds(OutputMemoryKinds& arguments) {
  const Compiled& compiled = of(arguments.executable);
  arguments.count = compiled.types.size();
  arguments.kinds = compiled.memory_kinds.data();
  arguments.sizes = compiled.memory_kind_sizes.data();
}

// Returns the program as it was passed in: the compiled form is not StableHLO.
void optimized(OptimizedProgram& arguments) {
  const Compiled& compiled = of(arguments.executable);
  Program& program = given(arguments.program, "a program");
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  if (program.code == nullptr) {
    program.code_size = compiled.code.size();
    return;
  }
  if (program.code_size < compiled.code.size()) {
    throw Failure(Code::kInvalidArgument, "code_size: expected at least " +
                                              std::to_string(compiled.code.size()) + ", got " +
                                              std::to_string(program.code_size));
  }
  std::memcpy(program.code, compiled.code.data(), compiled.code.size());
}

void compiled_memory_statistics(MemoryStatistics& arguments) {
  const Compiled& compiled = of(arguments.executable);
  arguments.code_bytes = compiled.code_bytes;
  arguments.argument_bytes = compiled.argument_bytes;
  arguments.output_bytes = compiled.output_bytes;
  arguments.alias_bytes = compiled.alias_bytes;
  const std::int64_t ends = compiled.argument_bytes + compiled.output_bytes - compiled.alias_bytes;
  arguments.temporary_bytes = std::max<std::int64_t>(compiled.peak_bytes - ends, 0);
  for (std::int64_t& bytes : arguments.host_bytes) bytes = 0;
  arguments.peak_bytes = compiled.peak_bytes;
  arguments.total_bytes = ends + arguments.temporary_bytes + compiled.code_bytes;
}

template <class Of>
void give_bytes(Bytes<Of>& arguments, std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  arguments.bytes = owned->data();
  arguments.size = owned->size();
  arguments.owner = owned;
  arguments.release = [](void* owner) { delete static_cast<std::string*>(owner); };
}

void serialize(Bytes<const Executable>& arguments) {
  const Compiled& compiled = of(arguments.of);
  const WithGil held;
  give_bytes(arguments, bytes_of(compiled.program.get(), "serialized"));
}

void compile_options(Bytes<Executable>& arguments) {
  give_bytes(arguments, of(arguments.of).options);
}

void assignment(Bytes<LoadedExecutable>& arguments) {
  of(arguments.of);
  give_bytes(arguments, std::string(kAssignment, sizeof(kAssignment)));
}

void destroy_loaded(Only<LoadedExecutable>& arguments) {
  destroy_given(arguments.of, "an executable");
}

void executable(Ask<LoadedExecutable, Executable*>& arguments) {
  arguments.out = new Executable(given(arguments.of, "an executable").compiled);
}

void executable_devices(List<LoadedExecutable, Device*>& arguments) {
  const Client& client = given(of(arguments.of).client, "a client");
  arguments.items = client.devices.data();
  arguments.count = client.devices.size();
}

void delete_executable(Only<LoadedExecutable>& arguments) {
  given(arguments.of, "an executable").deleted = true;
}

void is_executable_deleted(Ask<LoadedExecutable, bool>& arguments) {
  arguments.out = given(arguments.of, "an executable").deleted;
}

}  // namespace

ExecutionPlan& Compiled::plan() const {
  if (!has_plan_) {
    const WithGil held;
    const nb::object runner = program.get().attr("runner");
    // Another thread may have set it meanwhile; a mutex would be held while Python runs.
    if (!has_plan_) {
      check(execution().plan_of(runner.ptr(), plan_));
      has_plan_ = true;
    }
  }
  return *plan_;
}

std::vector<std::int64_t> Compiled::shape(std::size_t output) const {
  auto first = dimensions.begin();
  for (std::size_t number = 0; number < output; ++number) first += ranks[number];
  return {first, first + ranks[output]};
}

namespace {

NamedValue cost(const char* name, float value) {
  NamedValue made{};
  made.head.size = sizeof(NamedValue);
  made.name = name;
  made.name_size = std::string_view(name).size();
  made.kind = NamedValueKind::kFloat;
  made.number = value;
  made.size = 1;
  return made;
}

}  // namespace

std::unique_ptr<LoadedExecutable> compiled_by(Client& client, nb::object program) {
  auto compiled = std::make_shared<Compiled>();
  compiled->client = &client;
  compiled->name = attribute<std::string>(program, "name");
  compiled->fingerprint = attribute<std::string>(program, "fingerprint");
  compiled->code = bytes_of(program, "code");
  compiled->options = bytes_of(program, "options");
  compiled->types = attribute<std::vector<int>>(program, "types");
  for (const auto& shape : attribute<std::vector<std::vector<std::int64_t>>>(program, "shapes")) {
    compiled->dimensions.insert(compiled->dimensions.end(), shape.begin(), shape.end());
    compiled->ranks.push_back(shape.size());
    const int type = compiled->types[compiled->result_bytes.size()];
    compiled->result_bytes.push_back(count_bytes(client, type, shape));
  }
  compiled->input_types = attribute<std::vector<int>>(program, "input_types");
  compiled->input_shapes =
      attribute<std::vector<std::vector<std::int64_t>>>(program, "input_shapes");
  compiled->can_be_deferred = attribute<bool>(program, "can_be_deferred");
  compiled->memory_kinds.assign(compiled->types.size(), kMemoryKind);
  compiled->memory_kind_sizes.assign(compiled->types.size(), std::string_view(kMemoryKind).size());
  compiled->donated = attribute<std::vector<std::int64_t>>(program, "donated");
  compiled->argument_bytes = attribute<std::int64_t>(program, "argument_bytes");
  compiled->output_bytes = attribute<std::int64_t>(program, "output_bytes");
  compiled->code_bytes = attribute<std::int64_t>(program, "code_bytes");
  compiled->peak_bytes = attribute<std::int64_t>(program, "peak_bytes");
  compiled->alias_bytes = attribute<std::int64_t>(program, "alias_bytes");
  // The names of XLA.
  compiled->costs = {cost("flops", attribute<float>(program, "flops")),
                     cost("transcendentals", attribute<float>(program, "transcendentals")),
                     cost("bytes accessed", attribute<float>(program, "accessed_bytes"))};
  compiled->program = PythonReference(std::move(program));
  if (!compiled->can_be_deferred) (void)compiled->plan();
  auto loaded = std::make_unique<LoadedExecutable>();
  loaded->compiled = std::move(compiled);
  return loaded;
}

void define_executables(Api& api) {
  define<Function::Client_Compile, &compile>(api);
  define<Function::Executable_DeserializeAndLoad, &load>(api);
  define<Function::Executable_Destroy, &destroy_executable>(api);
  define<Function::Executable_Name, &name>(api);
  define<Function::Executable_NumReplicas, &one>(api);
  define<Function::Executable_NumPartitions, &one>(api);
  define<Function::Executable_NumOutputs, &output_count>(api);
  define<Function::Executable_SizeOfGeneratedCodeInBytes, &code_size>(api);
  define<Function::Executable_GetCostAnalysis, &costs>(api);
  define<Function::Executable_Fingerprint, &fingerprint<Executable>>(api);
  define<Function::Executable_OutputElementTypes, &output_types>(api);
  define<Function::Executable_OutputDimensions, &output_dimensions>(api);
  define<Function::Executable_OutputMemoryKinds, &output_memory_kinds>(api);
  define<Function::Executable_OptimizedProgram, &optimized>(api);
  define<Function::Executable_GetCompiledMemoryStats, &compiled_memory_statistics>(api);
  define<Function::Executable_Serialize, &serialize>(api);
  define<Function::Executable_GetCompileOptions, &compile_options>(api);
  define<Function::LoadedExecutable_Destroy, &destroy_loaded>(api);
  define<Function::LoadedExecutable_GetExecutable, &executable>(api);
  define<Function::LoadedExecutable_AddressableDevices, &executable_devices>(api);
  define<Function::LoadedExecutable_GetDeviceAssignment, &assignment>(api);
  define<Function::LoadedExecutable_Delete, &delete_executable>(api);
  define<Function::LoadedExecutable_IsDeleted, &is_executable_deleted>(api);
  define<Function::LoadedExecutable_Fingerprint, &fingerprint<LoadedExecutable>>(api);
}

}  // namespace metalbench::pjrt
