#include "core/dispatch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "core/nearest.h"
#include "core/texture_binding.h"

namespace metalbench {
namespace {

constexpr std::uint32_t threadgroup_alignment = 16;  // Metal's requirement for dynamic sizes

[[noreturn]] void reject(const PipelineInfo& info, const std::string& what) {
  throw DispatchError("[" + info.name + "] " + what);
}

bool is_threadgroup(const Argument& argument) { return argument.kind == ArgumentKind::threadgroup; }

// Throw for a name that is not an argument. Called before the check for missing arguments, so that
// a mistyped name is reported as such.
template <typename T>
void check_names(const PipelineInfo& info, const std::map<std::string, T>& given,
                 bool threadgroup) {
  std::vector<std::string> known;
  std::string listed;
  for (const Argument& argument : info.arguments) {
    if (is_threadgroup(argument) != threadgroup) continue;
    known.push_back(argument.name);
    listed += (listed.empty() ? "`" : ", `") + argument.name + "`";
  }
  for (const auto& [name, value] : given) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = did_you_mean(name, known);
    reject(info, name + ": the kernel has no such " + (threadgroup ? "threadgroup " : "") +
                     "argument; " + (near.empty() ? "" : near + " ") + "it has " +
                     (listed.empty() ? "none" : listed));
  }
}

// A kernel loads whole vectors from the begin of its buffer.
void check_alignment(const PipelineInfo& info, const Argument& argument, const Buffer& buffer) {
  const std::uint64_t beyond = argument.alignment == 0 ? 0 : buffer.address() % argument.alignment;
  if (beyond == 0) return;
  const std::string alignment = std::to_string(argument.alignment);
  reject(info, argument.name + ": expected an offset at a multiple of " + alignment +
                   " bytes, the alignment of " + argument.address_space + " " + argument.type +
                   ", got offset " + std::to_string(buffer.offset()) + ", " +
                   std::to_string(beyond) + " bytes past one; slice at a multiple of " + alignment +
                   ", or copy into memory of Device.allocate()");
}

void check_buffer(const PipelineInfo& info, const Argument& argument, const Value& value) {
  const bool is_bytes = std::holds_alternative<Bytes>(value);
  const std::size_t size =
      is_bytes ? std::get<Bytes>(value).size() : std::get<Buffer>(value).size();
  if (is_bytes && argument.access == Access::read_write) {
    reject(info, argument.name +
                     ": the kernel writes to it; expected a buffer or an array, got a constant");
  }
  if (is_bytes && argument.address_space == "constant" && size < argument.element_bytes) {
    reject(info, argument.name + ": expected " + argument.type + " (" +
                     std::to_string(argument.element_bytes) + " bytes), got " +
                     std::to_string(size) + " bytes");
  }
  if (!is_bytes) check_alignment(info, argument, std::get<Buffer>(value));
}

void check_value(const PipelineInfo& info, const Argument& argument, const Value& value) {
  if (argument.kind != ArgumentKind::buffer) {
    const std::string wrong = mismatch(argument, value);
    if (!wrong.empty()) reject(info, argument.name + ": " + wrong);
  } else if (!std::holds_alternative<Buffer>(value) && !std::holds_alternative<Bytes>(value)) {
    reject(info, argument.name + ": expected a buffer or an array for " + argument.address_space +
                     " " + argument.type + ", got a texture or a sampler");
  } else {
    check_buffer(info, argument, value);
  }
}

std::string expected(const Argument& argument) {
  const bool memory = argument.kind == ArgumentKind::buffer;
  return (memory ? argument.address_space + " " : std::string()) + argument.type + " at " +
         to_string(argument.kind) + " " + std::to_string(argument.index);
}

std::vector<Binding> bind_values(const PipelineInfo& info, std::map<std::string, Value> values) {
  check_names(info, values, false);
  std::vector<Binding> bindings;
  for (const Argument& argument : info.arguments) {
    if (is_threadgroup(argument)) continue;
    const auto value = values.find(argument.name);
    if (value == values.end()) {
      reject(info, argument.name + ": missing argument; expected " + expected(argument));
    }
    check_value(info, argument, value->second);
    bindings.push_back({argument.index, argument.name, std::move(value->second)});
  }
  return bindings;
}

std::vector<ThreadgroupMemory> bind_threadgroup_memory(
    const PipelineInfo& info, const std::map<std::string, std::uint32_t>& sizes,
    const Limits& limits) {
  check_names(info, sizes, true);
  std::vector<ThreadgroupMemory> memory;
  for (const Argument& argument : info.arguments) {
    if (!is_threadgroup(argument)) continue;
    const auto size = sizes.find(argument.name);
    const std::uint32_t given = size == sizes.end() ? argument.element_bytes : size->second;
    if (given > limits.max_threadgroup_bytes) {
      reject(info, argument.name + ": expected at most " +
                       std::to_string(limits.max_threadgroup_bytes) +
                       " bytes of threadgroup memory, got " + std::to_string(given) +
                       "; use smaller tiles");
    }
    memory.push_back({argument.index, (given + threadgroup_alignment - 1) / threadgroup_alignment *
                                          threadgroup_alignment});
  }
  return memory;
}

// Products of sizes are computed in 64 bits, with a sign in some places.
void check_count(const PipelineInfo& info, const Size3& size, const char* what) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (size.count() <= most) return;
  reject(info, std::string("grid: expected at most 2^63 - 1 ") + what + " in all, got " +
                   to_string(size) + "; use a smaller grid, or several dispatches");
}

void check_geometry(const PipelineInfo& info, const Dispatch& dispatch, const Limits& limits) {
  const std::uint64_t threads = dispatch.threads.count();
  const std::uint64_t most =
      std::min<std::uint64_t>(limits.max_threads_per_threadgroup, info.max_threads);
  if (threads == 0 || threads > most) {
    // A number that overflows is not printed.
    const bool fits = threads < std::numeric_limits<std::uint64_t>::max();
    reject(info, "threads: expected 1 to " + std::to_string(most) + " threads a threadgroup, got " +
                     (fits ? std::to_string(threads) + " " : "") + to_string(dispatch.threads));
  }
  // The number of threads along an axis is a uint of the kernel, too.
  constexpr std::uint64_t most_positions = std::numeric_limits<std::uint32_t>::max();
  const Size3 grid = dispatch.grid;
  for (const auto& [groups, size] :
       {std::pair{grid.x, dispatch.threads.x}, std::pair{grid.y, dispatch.threads.y},
        std::pair{grid.z, dispatch.threads.z}}) {
    if (!dispatch.grid_in_threads && std::uint64_t{groups} * size > most_positions) {
      reject(info,
             "grid: positions do not fit 32 bits: expected at most 2^32 - 1 threads along an "
             "axis, got " +
                 to_string(grid) + " threadgroups of " + to_string(dispatch.threads));
    }
  }
  check_count(info, dispatch.threads_per_grid(), "threads");
  // Threadgroups at the edges are smaller, but counted.
  check_count(info, dispatch.threadgroups_per_grid(), "threadgroups");
  std::uint64_t bytes = info.threadgroup_bytes;
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) bytes += memory.bytes;
  if (bytes > limits.max_threadgroup_bytes) {
    reject(info, "threadgroup memory: expected at most " +
                     std::to_string(limits.max_threadgroup_bytes) + " bytes, got " +
                     std::to_string(bytes) + "; use smaller tiles");
  }
}

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((std::uint64_t{a} + b - 1) / b);
}

}  // namespace

const char* to_string(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::buffer:
      return "buffer";
    case ArgumentKind::threadgroup:
      return "threadgroup";
    case ArgumentKind::texture:
      return "texture";
    case ArgumentKind::sampler:
      return "sampler";
  }
  return "";
}

const char* to_string(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::read_write:
      return "read_write";
    case Access::write:
      return "write";
    case Access::sample:
      return "sample";
  }
  return "";
}

std::uint32_t tensor_rank(const Argument& extents) {
  const std::size_t comma = extents.type.find(',');
  return comma == std::string::npos
             ? 0
             : static_cast<std::uint32_t>(std::stoul(extents.type.substr(comma + 1)) / 2);
}

void describe_extents(Argument& extents) {
  extents.element = Element::int64;
  extents.element_bytes =
      2 * tensor_rank(extents) * static_cast<std::uint32_t>(sizeof(std::int64_t));
  extents.alignment = alignof(std::int64_t);
}

std::string to_string(const Size3& size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + ")";
}

Size3 Dispatch::threads_per_grid() const {
  if (grid_in_threads) return grid;
  return {grid.x * threads.x, grid.y * threads.y, grid.z * threads.z};
}

Size3 Dispatch::threadgroups_per_grid() const {
  if (!grid_in_threads) return grid;
  return {ceil_div(grid.x, threads.x), ceil_div(grid.y, threads.y), ceil_div(grid.z, threads.z)};
}

void check_pipeline(const PipelineInfo& info, const Limits& limits) {
  if (info.threadgroup_bytes <= limits.max_threadgroup_bytes) return;
  throw CompileError(info.filename + ": error: [" + info.name + "] Threadgroup memory size (" +
                     std::to_string(info.threadgroup_bytes) +
                     ") exceeds the maximum threadgroup memory allowed (" +
                     std::to_string(limits.max_threadgroup_bytes) + "); use smaller tiles");
}

Dispatch bind(std::shared_ptr<const Pipeline> pipeline, DispatchRequest request,
              const Limits& limits) {
  const PipelineInfo& info = pipeline->info();
  Dispatch dispatch{
      .pipeline = pipeline,
      .bindings = bind_values(info, std::move(request.arguments)),
      .threadgroup_memory = bind_threadgroup_memory(info, request.threadgroup_bytes, limits),
      .resources = std::move(request.resources),
      .grid = request.grid,
      .grid_in_threads = request.grid_in_threads,
      .threads = request.threads,
  };
  check_geometry(info, dispatch, limits);
  return dispatch;
}

}  // namespace metalbench
