#include "cpu/launch.h"

#include <algorithm>
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

  for (const Binding& binding : dispatch.bindings) bind(binding, dispatch.pipeline->info());
  for (const Buffer& resource : dispatch.resources) {
    const std::string name = "resources[" + std::to_string(&resource - dispatch.resources.data());
    add_buffer(name + "]", resource, nullptr);
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

std::byte* Launch::add_buffer(const std::string& name, const Buffer& buffer,
                              const Argument* argument) {
  std::byte* begin = buffer.bytes().data();
  Range& range = ranges.emplace_back();
  range.name = name;
  range.begin = begin;
  range.end = begin + buffer.size();
  range.element_bytes = argument == nullptr ? 0 : argument->element_bytes;
  range.is_writable = argument == nullptr || argument->access == metalbench::Access::read_write;
  range.buffer = buffer;
  return begin;
}

void Launch::bind(const Binding& binding, const PipelineInfo& kernel) {
  if (const auto* textures = std::get_if<Textures>(&binding.value)) {
    textures_.bind(binding.index, *textures);
    for (const Texture& texture : *textures) texels_.push_back(texture.buffer());
  } else if (const auto* samplers = std::get_if<Samplers>(&binding.value)) {
    textures_.bind(binding.index, *samplers);
  } else if (const auto* buffer = std::get_if<Buffer>(&binding.value)) {
    const auto argument = std::ranges::find(kernel.arguments, binding.name, &Argument::name);
    const bool is_known = argument != kernel.arguments.end();
    shared.buffers[binding.index] =
        add_buffer(binding.name, *buffer, is_known ? &*argument : nullptr);
  } else {
    const Bytes& bytes = std::get<Bytes>(binding.value);
    constants_.push_back(std::make_unique<std::byte[]>(bytes.size() + constant_padding));
    std::byte* begin = constants_.back().get();
    std::memcpy(begin, bytes.data(), bytes.size());
    shared.buffers[binding.index] = begin;
    Range& range = ranges.emplace_back();
    range.name = binding.name;
    range.begin = begin;
    range.end = begin + bytes.size();
  }
}

std::shared_ptr<Shadow> Launch::watch(std::span<const std::unique_ptr<Launch>> launches) {
  std::shared_ptr<Shadow> shadow;
  for (const auto& launch : launches) {
    if (!launch->checked) continue;
    if (shadow == nullptr) shadow = std::make_shared<Shadow>();
    launch->shadow = shadow;
    for (const Range& range : launch->ranges) {
      if (range.buffer) shadow->add(range.begin, range.end, range.element_bytes, range.is_writable);
    }
  }
  if (shadow == nullptr) return shadow;
  shadow->divide();
  for (const auto& launch : launches) {
    if (!launch->checked) continue;
    for (Range& range : launch->ranges) {
      if (range.buffer) range.region = shadow->region_of(range.begin);
    }
  }
  return shadow;
}

void Launch::assume_written() const {
  for (const Buffer& buffer : texels_) buffer.mark_written();
  if (checked) return;
  for (const Range& range : ranges) {
    if (range.buffer && range.is_writable) range.buffer->mark_written();
  }
}

void Launch::make_null() {
  thread_entry = [](const mb::Launch*, const mb::Group*, const mb::Fiber*) {};
  span_entry = [](const mb::Launch*, mb::Group*, mb::u64, mb::u64) {};
  checked = false;
}

}  // namespace metalbench::cpu
