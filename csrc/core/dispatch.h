#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.h"
#include "core/library.h"
#include "core/texture.h"
#include "core/types.h"

namespace metalbench {

using Bytes = std::vector<std::byte>;
using Textures = std::vector<Texture>;
using Samplers = std::vector<Sampler>;
// A buffer; a small constant that is copied into the dispatch; or textures or samplers, one for
// each element of an array parameter.
using Value = std::variant<Buffer, Bytes, Textures, Samplers>;

struct Binding {
  std::uint32_t index = 0;
  std::string name;
  Value value;
};

struct ThreadgroupMemory {
  std::uint32_t index = 0;
  std::uint32_t bytes = 0;
};

// One launch of a kernel with all of its arguments. It can be run any number of times.
struct Dispatch {
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<Binding> bindings;
  std::vector<ThreadgroupMemory> threadgroup_memory;
  std::vector<Buffer> resources;  // accessed through addresses in other buffers
  Size3 grid;                     // in threads or in threadgroups, see grid_in_threads
  bool grid_in_threads = true;    // dispatchThreads; otherwise dispatchThreadgroups
  Size3 threads;                  // per threadgroup

  [[nodiscard]] Size3 threads_per_grid() const;
  [[nodiscard]] Size3 threadgroups_per_grid() const;
};

struct DispatchRequest {
  std::map<std::string, Value> arguments;  // by name
  std::map<std::string, std::uint32_t> threadgroup_bytes;
  std::vector<Buffer> resources;
  Size3 grid;
  bool grid_in_threads = true;
  Size3 threads;
};

// Check what Metal checks when it creates a pipeline. Throws CompileError, in Metal's words.
void check_pipeline(const PipelineInfo& info, const Limits& limits);

// Bind arguments by name and check them against the kernel and the limits. Throws DispatchError.
[[nodiscard]] Dispatch bind(std::shared_ptr<const Pipeline> pipeline, DispatchRequest request,
                            const Limits& limits);

}  // namespace metalbench
