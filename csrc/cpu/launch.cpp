#include "cpu/launch.h"

#include <cstring>
#include <utility>

namespace metalbench::cpu {
namespace {

mb::Dim3 dim3(const Size3& size) { return {size.x, size.y, size.z}; }

// Vectorised code may read a constant as a whole vector register.
constexpr std::size_t constant_padding = 64;

}  // namespace

Launch::Launch(const Dispatch& dispatch, std::shared_ptr<const Module> kernel_module)
    : module(std::move(kernel_module)), kernel(dispatch.pipeline->info().name) {
  const Size3 grid = dispatch.threadgroups_per_grid();
  shared.threads_per_grid = dim3(dispatch.threads_per_grid());
  shared.threadgroups_per_grid = dim3(grid);
  shared.threads_per_threadgroup = dim3(dispatch.threads);
  groups = grid.count();
  threads_per_group = static_cast<std::uint32_t>(dispatch.threads.count());
  thread_entry = module->thread_entry();
  span_entry = module->span_entry();
  use_span = module->info().needs_fibers == 0;

  for (const Binding& binding : dispatch.bindings) {
    if (const auto* textures = std::get_if<Textures>(&binding.value)) {
      textures_.bind(binding.index, *textures);
      continue;
    }
    if (const auto* samplers = std::get_if<Samplers>(&binding.value)) {
      textures_.bind(binding.index, *samplers);
      continue;
    }
    std::byte* begin = nullptr;
    std::size_t size = 0;
    if (const auto* buffer = std::get_if<Buffer>(&binding.value)) {
      buffers_.push_back(*buffer);
      begin = buffer->bytes().data();
      size = buffer->size();
    } else {
      const Bytes& bytes = std::get<Bytes>(binding.value);
      size = bytes.size();
      constants_.push_back(std::make_unique<std::byte[]>(size + constant_padding));
      begin = constants_.back().get();
      std::memcpy(begin, bytes.data(), size);
    }
    shared.buffers[binding.index] = begin;
    ranges.push_back({binding.name, begin, begin + size});
  }
  for (const Buffer& resource : dispatch.resources) {
    const std::string name = "resources[" + std::to_string(&resource - dispatch.resources.data());
    const std::byte* begin = resource.bytes().data();
    buffers_.push_back(resource);
    ranges.push_back({name + "]", begin, begin + resource.size()});
  }
  shared.textures = textures_.textures();
  shared.samplers = textures_.samplers();
  arena_bytes = module->info().threadgroup_bytes;
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    arena_bytes = (arena_bytes + 15) / 16 * 16;
    shared.threadgroup_offset[memory.index] = arena_bytes;
    arena_bytes += memory.bytes;
  }
}

void Launch::make_null() {
  thread_entry = [](const mb::Launch*, const mb::Group*, const mb::Fiber*) {};
  span_entry = [](const mb::Launch*, mb::Group*, mb::u64, mb::u64) {};
  checked = false;
}

}  // namespace metalbench::cpu
