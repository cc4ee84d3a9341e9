#include "cuda/launch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/errors.h"
#include "cuda/library.h"

namespace metalbench::cuda {
namespace {

// Hardware limit along y and z; x is not limited in practice.
constexpr std::uint32_t most_groups = 65535;
constexpr std::uint32_t most_threads_deep = 64;
// Kernels may load a constant as a whole vector.
constexpr std::size_t constant_padding = 64;
// Dynamic threadgroup memory of a launch that needs no permission.
constexpr std::uint32_t default_shared_bytes = 48 << 10;

mb::Dim3 dim3(const Size3& size) { return {size.x, size.y, size.z}; }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

class Binder {
 public:
  Binder(const Dispatch& dispatch, Table& table, std::set<std::shared_ptr<Mirror>>& storages,
         mb::gpu::Launch& parameter)
      : dispatch_(dispatch), table_(table), storages_(storages), parameter_(parameter) {}

  void bind() {
    for (const Binding& binding : dispatch_.bindings) {
      std::visit([&](const auto& value) { put(binding.index, value); }, binding.value);
    }
    for (const Buffer& resource : dispatch_.resources) (void)address_of(resource);
    if (!textures_.empty()) parameter_.textures = table_.put(bytes_of(textures_));
    if (!samplers_.empty()) parameter_.samplers = table_.put(bytes_of(samplers_));
  }

 private:
  [[nodiscard]] Address address_of(const Buffer& buffer) {
    auto mirror = mirror_of(buffer.storage());
    if (mirror == nullptr) {
      throw DispatchError("[" + dispatch_.pipeline->info().name +
                          "] a buffer belongs to another device; allocate it on this one");
    }
    storages_.insert(std::move(mirror));
    return buffer.address();
  }

  void put(std::uint32_t index, const Buffer& buffer) {
    parameter_.buffers[index] = address_of(buffer);
  }

  void put(std::uint32_t index, const Bytes& bytes) {
    Bytes padded = bytes;
    padded.resize(bytes.size() + constant_padding);
    parameter_.buffers[index] = table_.put(padded);
  }

  void put(std::uint32_t index, const Textures& textures) {
    textures_.resize(std::max(textures_.size(), index + textures.size()));
    for (const Texture& texture : textures) textures_[index++] = described(texture);
  }

  void put(std::uint32_t index, const Samplers& samplers) {
    samplers_.resize(std::max(samplers_.size(), index + samplers.size()));
    std::ranges::copy(samplers, samplers_.begin() + index);
  }

  [[nodiscard]] mb::Texture described(const Texture& texture) {
    const TextureDescriptor& descriptor = texture.descriptor();
    const Address texels = address_of(texture.buffer());
    std::vector<mb::TextureLevel> levels;
    for (const TextureLevel& level : descriptor.levels) {
      levels.push_back({reinterpret_cast<mb::u8*>(texels + level.offset), level.row_bytes,
                        level.slice_bytes, descriptor.format.bytes(), level.width, level.height,
                        level.slices});
    }
    const mb::TextureLevel base = levels.front();
    levels.erase(levels.begin());
    const Address smaller = levels.empty() ? 0 : table_.put(bytes_of(levels));
    return {base,
            reinterpret_cast<const mb::TextureLevel*>(smaller),
            static_cast<mb::u32>(descriptor.levels.size()),
            descriptor.format.channel,
            descriptor.format.channels,
            descriptor.format.bgra};
  }

  const Dispatch& dispatch_;
  Table& table_;
  std::set<std::shared_ptr<Mirror>>& storages_;
  mb::gpu::Launch& parameter_;
  std::vector<mb::Texture> textures_;
  std::vector<mb::Sampler> samplers_;
};

// Use one row of threadgroups where the hardware's limit along an axis is below Metal's.
void set_geometry(const Dispatch& dispatch, Launch& launch) {
  const Size3 grid = dispatch.threadgroups_per_grid(), block = dispatch.threads;
  launch.parameter.threads_per_grid = dim3(dispatch.threads_per_grid());
  launch.parameter.threadgroups_per_grid = dim3(grid);
  launch.parameter.threads_per_threadgroup = dim3(block);
  launch.grid = grid;
  launch.block = block;
  constexpr std::uint64_t most_in_row = std::numeric_limits<std::int32_t>::max();
  const bool is_allowed =
      grid.y <= most_groups && grid.z <= most_groups && block.z <= most_threads_deep;
  if (is_allowed && grid.x <= most_in_row) return;
  if (grid.count() > most_in_row) {
    throw DispatchError("[" + dispatch.pipeline->info().name +
                        "] grid: expected at most 2^31 - 1 threadgroups on an NVIDIA GPU, got " +
                        to_string(grid));
  }
  launch.parameter.is_flat = 1;
  launch.grid = {static_cast<std::uint32_t>(grid.count()), 1, 1};
  launch.block = {static_cast<std::uint32_t>(block.count()), 1, 1};
}

}  // namespace

Table::~Table() {
  if (!gpu_->lost().empty()) return;
  for (const Address address : addresses_) (void)gpu_->driver().cuMemFree_v2(address);
}

Address Table::put(std::span<const std::byte> bytes) {
  Address address = 0;
  gpu_->check(gpu_->driver().cuMemAlloc_v2(&address, bytes.size()), "allocate a constant");
  addresses_.push_back(address);
  gpu_->copy_in(address, bytes.data(), bytes.size());
  return address;
}

void Launch::submit(const Gpu& gpu, Stream stream) const {
  if (grid.count() == 0) return;
  mb::gpu::Launch copy = parameter;
  void* parameters[] = {&copy};
  gpu.check(
      gpu.driver().cuLaunchKernel(module->function(), grid.x, grid.y, grid.z, block.x, block.y,
                                  block.z, shared_bytes, stream, parameters, nullptr),
      "launch a kernel");
  gpu.launched();
}

Launch make_launch(const std::shared_ptr<const Gpu>& gpu, const Dispatch& dispatch, Table& table,
                   std::set<std::shared_ptr<Mirror>>& storages, const Modules* instead) {
  gpu->use();
  const auto* pipeline = dynamic_cast<const CudaPipeline*>(dispatch.pipeline.get());
  if (pipeline == nullptr) {
    throw DispatchError("[" + dispatch.pipeline->info().name +
                        "] the pipeline belongs to another device; compile it on this one");
  }
  Launch launch;
  set_geometry(dispatch, launch);
  Binder(dispatch, table, storages, launch.parameter).bind();
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    launch.shared_bytes = (launch.shared_bytes + 15) / 16 * 16;
    launch.parameter.threadgroup_offset[memory.index] = launch.shared_bytes;
    launch.shared_bytes += memory.bytes;
  }
  const bool is_aligned = std::ranges::all_of(dispatch.bindings, [&](const Binding& binding) {
    const bool is_buffer = std::holds_alternative<Buffer>(binding.value) ||
                           std::holds_alternative<Bytes>(binding.value);
    return !is_buffer || launch.parameter.buffers[binding.index] % buffer_alignment == 0;
  });
  const Modules& modules = instead != nullptr ? *instead
                           : is_aligned       ? pipeline->modules()
                                              : pipeline->modules_for_unaligned();
  launch.module = modules.of_threads(static_cast<std::uint32_t>(dispatch.threads.count()));
  launch.shared_bytes = (launch.shared_bytes + 15) / 16 * 16 + modules.product_bytes();
  if (launch.shared_bytes > default_shared_bytes) {
    launch.module->allow_dynamic_bytes(launch.shared_bytes);
  }
  return launch;
}

}  // namespace metalbench::cuda
