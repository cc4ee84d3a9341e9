#include "cpu/launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/errors.h"

namespace metalbench::cpu {
namespace {

mb::Dim3 dim3(const Size3& size) { return {size.x, size.y, size.z}; }

// Vectorised code may read a constant as a whole vector register.
constexpr std::size_t constant_padding = 64;
// Fewer threadgroups are checked in order: all of them are run, and findings stay reproducible.
constexpr std::uint64_t least_scattered = 64;

}  // namespace

Launch::Launch(const Dispatch& dispatch, const CpuPipeline& pipeline)
    : module(pipeline.module()), kernel(pipeline.info().name), checked(pipeline.checked()) {
  const Size3 grid = dispatch.threadgroups_per_grid();
  shared.threads_per_grid = dim3(dispatch.threads_per_grid());
  shared.threadgroups_per_grid = dim3(grid);
  shared.threads_per_threadgroup = dim3(dispatch.threads);
  groups = grid.count();
  span_entry = module->span_entry();
  use_span = module->info().needs_fibers == 0;
  scattered = checked && pipeline.any_order() && groups >= least_scattered;
  if (!use_span) enter_groups(pipeline);

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
  if (checked) list_parts(dispatch, dispatch.pipeline->info());
}

void Launch::list_parts(const Dispatch& dispatch, const PipelineInfo& kernel) {
  if (module->parts_entry() != nullptr) {
    const mb::ThreadgroupParts all = module->parts_entry()();
    for (const mb::ThreadgroupPart* each = all.begin; each != all.end; ++each) {
      const auto begin = static_cast<std::size_t>(each->storage - all.arena);
      parts.push_back({each->name, begin, begin + each->bytes});
    }
  }
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    const auto is_it = [&](const Argument& argument) {
      return argument.kind == ArgumentKind::threadgroup && argument.index == memory.index;
    };
    const auto argument = std::ranges::find_if(kernel.arguments, is_it);
    const std::size_t begin = shared.threadgroup_offset[memory.index];
    const std::string name = argument == kernel.arguments.end() ? "" : argument->name;
    parts.push_back({name, begin, begin + memory.bytes});
  }
}

// Groups at the edge along x may need another entry for their number of threads.
void Launch::enter_groups(const CpuPipeline& pipeline) {
  const mb::Dim3 size = shared.threads_per_threadgroup, grid = shared.threads_per_grid;
  const std::uint32_t rest = grid.x % size.x;
  const auto fibers = [&](const GroupEntry& of, std::uint32_t size_x) {
    return (size_x * size.y * size.z + of.threads_per_fiber - 1) / of.threads_per_fiber;
  };
  if (grid.x >= size.x) {
    entry = pipeline.entry_for(size.x);
    fibers_per_group = fibers(entry, size.x);
  }
  if (rest != 0) {
    edge_entry = pipeline.entry_for(rest);
    fibers_per_group = std::max(fibers_per_group, fibers(edge_entry, rest));
  }
}

bool Launch::describes(const std::byte* address) const {
  const auto bytes = std::as_bytes(std::span(&shared, 1));
  return (address >= bytes.data() && address < bytes.data() + bytes.size()) ||
         textures_.holds(address);
}

const Module& Launch::module_of(const void* pc) const {
  for (const GroupEntry* each : {&entry, &edge_entry}) {
    if (each->module != nullptr && each->module->contains(pc)) return *each->module;
  }
  return *module;
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
  range.is_constant = argument != nullptr && argument->address_space == "constant";
  range.buffer = buffer;
  return begin;
}

void Launch::add_textures(const Binding& binding, const Textures& textures,
                          const Argument* argument) {
  textures_.bind(binding.index, textures);
  for (const Texture& texture : textures) {
    if (!checked) {
      texels_.push_back(texture.buffer());
      continue;
    }
    const std::string number = "[" + std::to_string(&texture - textures.data()) + "]";
    add_buffer(binding.name + (textures.size() == 1 ? "" : number), texture.buffer(), argument);
    Range& range = ranges.back();
    range.element_bytes = texture.descriptor().format.bytes();
    range.is_texture = true;
    range.is_read_back = argument != nullptr && argument->access == metalbench::Access::read_write;
    range.is_writable = range.is_read_back ||
                        (argument != nullptr && argument->access == metalbench::Access::write);
  }
}

void Launch::bind(const Binding& binding, const PipelineInfo& kernel) {
  binding_indices_.push_back(binding.index);
  if (const auto* textures = std::get_if<Textures>(&binding.value)) {
    const auto argument = std::ranges::find(kernel.arguments, binding.name, &Argument::name);
    add_textures(binding, *textures, argument == kernel.arguments.end() ? nullptr : &*argument);
  } else if (const auto* samplers = std::get_if<Samplers>(&binding.value)) {
    textures_.bind(binding.index, *samplers);
  } else if (binding.index == mb::max_buffers) {
    const auto* counts = std::get_if<Buffer>(&binding.value);
    if (counts == nullptr) throw DispatchError("[" + kernel.name + "] (counts): expected a buffer");
    counter = std::make_unique<Counter>(*counts, kernel.name);
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
    range.is_constant = true;
  }
}

void Launch::rebind(std::span<const Buffer> buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::byte* begin = buffers[i].bytes().data();
    shared.buffers[binding_indices_[i]] = begin;
    ranges[i].begin = begin;
    ranges[i].end = begin + buffers[i].size();
    ranges[i].buffer.reset();
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
  entry.function = [](const mb::Launch*, const mb::Group*, const mb::Fiber*) {};
  edge_entry.function = entry.function;
  span_entry = [](const mb::Launch*, mb::Group*, mb::u64, mb::u64) {};
  checked = false;
  counter = nullptr;
}

}  // namespace metalbench::cpu
