#include "slots.h"

#include <algorithm>
#include <utility>

#include "core/texture_binding.h"
#include "data_types.h"
#include "replay.h"

namespace metal_double {
namespace {

using metalbench::Access;
using metalbench::Argument;
using metalbench::ArgumentKind;
using metalbench::Bytes;
using metalbench::Dispatch;
using metalbench::Samplers;
using metalbench::Size3;
using metalbench::Textures;
using metalbench::Value;

constexpr NSUInteger most_threadgroup_bytes = 32 * 1024;
// "Minimum constant buffer offset alignment" of Apple's GPUs in
// https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf
constexpr NSUInteger least_constant_alignment = 4;

[[noreturn]] void reject(const Argument& argument, const std::string& what) {
  throw InvalidUse(argument.name + " at " + to_string(argument.kind) + " " +
                   std::to_string(argument.index) + ": " + what);
}

void check_offset(const Argument& argument, NSUInteger offset) {
  const bool is_constant = argument.address_space == "constant";
  const NSUInteger alignment =
      std::max(alignment_of(argument), is_constant ? least_constant_alignment : 1);
  if (offset % alignment == 0) return;
  reject(argument, "the offset " + std::to_string(offset) + " is not a multiple of " +
                       std::to_string(alignment) + ", its alignment");
}

Value buffer_value(const Argument& argument, const BufferSlot& slot, const Pass& pass) {
  if (slot.bytes != 0) {
    if (argument.access == Access::read_write) reject(argument, "the kernel writes to a constant");
    const auto begin = pass.bytes.begin() + static_cast<std::ptrdiff_t>(slot.offset);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(slot.bytes));
  }
  if (slot.buffer == nil) reject(argument, "no buffer is set");
  const NSUInteger length = slot.buffer->_length;
  if (slot.offset > length) reject(argument, "the offset is beyond the buffer's length");
  check_offset(argument, slot.offset);
  if (argument.address_space == "constant" && length - slot.offset < argument.element_bytes) {
    reject(argument, "the buffer has " + std::to_string(length - slot.offset) +
                         " bytes from its offset, the kernel reads " +
                         std::to_string(argument.element_bytes));
  }
  return metalbench::Buffer(slot.buffer->_storage, true).slice(slot.offset, length - slot.offset);
}

void check_usage(const Argument& argument, DoubleTexture* texture) {
  const MTLTextureUsage usage = texture.usage;
  const bool writes = argument.access == Access::write || argument.access == Access::read_write;
  if (writes && (usage & MTLTextureUsageShaderWrite) == 0) {
    reject(argument, "the texture's usage lacks ShaderWrite");
  }
  if (argument.access != Access::write && (usage & MTLTextureUsageShaderRead) == 0) {
    reject(argument, "the texture's usage lacks ShaderRead");
  }
}

Value texture_value(const Argument& argument, const Slots& slots) {
  Textures textures;
  for (std::uint32_t i = 0; i < argument.texture.count; ++i) {
    DoubleTexture* texture = slots.textures.at(argument.index + i);
    if (texture == nil) reject(argument, "no texture is set");
    check_usage(argument, texture);
    textures.push_back(*texture->_texture);
  }
  return textures;
}

Value sampler_value(const Argument& argument, const Slots& slots) {
  Samplers samplers;
  for (std::uint32_t i = 0; i < argument.texture.count; ++i) {
    DoubleSampler* sampler = slots.samplers.at(argument.index + i);
    if (sampler == nil) reject(argument, "no sampler is set");
    samplers.push_back(sampler->_sampler);
  }
  return samplers;
}

void check_tensor(const metalbench::PipelineInfo& info, const Argument& argument,
                  DoubleTensor* tensor) {
  if (!is_tensor(info, argument)) {
    if (tensor != nil) reject(argument, "a tensor is set, the kernel expects a buffer");
    return;
  }
  if (tensor == nil) reject(argument, "no tensor is set");
  if (tensor->_dataType != tensor_data_type(argument.type)) {
    reject(argument, "the tensor's data type " + std::to_string(tensor->_dataType) +
                         " is not that of " + argument.type);
  }
  if (tensor->_numbers.size() != 2 * rank_of(info, argument)) {
    reject(argument, "the tensor has another rank");
  }
}

// Of the tensor that was bound at the parameter's own index.
Value extents_value(const metalbench::PipelineInfo& info, const Argument& extents,
                    const Slots& slots) {
  const std::string name =
      extents.name.substr(0, extents.name.size() - metalbench::extents_suffix.size());
  const auto owner = std::ranges::find(info.arguments, name, &Argument::name);
  DoubleTensor* tensor = slots.buffers.at(owner->index).tensor;
  if (tensor == nil) reject(*owner, "no tensor is set");
  const auto* begin = reinterpret_cast<const std::byte*>(tensor->_numbers.data());
  return Bytes(begin, begin + tensor->_numbers.size() * sizeof(std::int64_t));
}

Value value_of(const metalbench::PipelineInfo& info, const Argument& argument, const Slots& slots,
               const Pass& pass) {
  if (is_extents(argument)) return extents_value(info, argument, slots);
  if (argument.kind == ArgumentKind::buffer) {
    const BufferSlot& slot = slots.buffers.at(argument.index);
    check_tensor(info, argument, slot.tensor);
    return buffer_value(argument, slot, pass);
  }
  Value value = argument.kind == ArgumentKind::texture ? texture_value(argument, slots)
                                                       : sampler_value(argument, slots);
  const std::string wrong = mismatch(argument, value);
  if (!wrong.empty()) reject(argument, wrong);
  return value;
}

Size3 size3(const MTLSize& size) {
  return {static_cast<std::uint32_t>(size.width), static_cast<std::uint32_t>(size.height),
          static_cast<std::uint32_t>(size.depth)};
}

void check_geometry(const Slots& slots, const Dispatch& dispatch) {
  const std::uint64_t threads = dispatch.threads.count();
  if (threads == 0 || threads > slots.pipeline->_maxThreads) {
    throw InvalidUse(std::to_string(threads) + " threads per threadgroup, not from 1 to " +
                     std::to_string(slots.pipeline->_maxThreads));
  }
  const MTLSize& required = slots.pipeline->_requiredThreads;
  const bool is_required = required.width * required.height * required.depth != 0;
  if (is_required && dispatch.threads != size3(required)) {
    throw InvalidUse("the threads per threadgroup are not requiredThreadsPerThreadgroup");
  }
  if (slots.pipeline->_needsRequiredThreads && !is_required) {
    throw InvalidUse("a kernel with cooperative tensors without requiredThreadsPerThreadgroup");
  }
  if (dispatch.grid.count() == 0) throw InvalidUse("an empty grid is dispatched");
  NSUInteger bytes = dispatch.pipeline->info().threadgroup_bytes;
  for (const auto& memory : dispatch.threadgroup_memory) bytes += memory.bytes;
  if (bytes > most_threadgroup_bytes) {
    throw InvalidUse(std::to_string(bytes) + " bytes of threadgroup memory, more than " +
                     std::to_string(most_threadgroup_bytes));
  }
}

}  // namespace

void Slots::apply(const Command& command) {
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::pipeline:
      pipeline = static_cast<DoublePipeline*>(command.object);
      break;
    case Kind::buffer:
      buffers[command.index] = {static_cast<DoubleBuffer*>(command.object), command.amount, 0, nil};
      break;
    case Kind::buffer_offset:
      buffers[command.index].offset = command.amount;
      break;
    case Kind::bytes:
      buffers[command.index] = {nil, command.amount, command.repeats, nil};
      break;
    case Kind::texture:
      textures[command.index] = static_cast<DoubleTexture*>(command.object);
      break;
    case Kind::tensor: {
      auto* const tensor = static_cast<DoubleTensor*>(command.object);
      buffers[command.index] = {};
      if (tensor != nil) buffers[command.index] = {tensor->_buffer, tensor->_offset, 0, tensor};
      break;
    }
    case Kind::sampler:
      samplers[command.index] = static_cast<DoubleSampler*>(command.object);
      break;
    case Kind::threadgroup_memory:
      threadgroup_bytes[command.index] = command.amount;
      break;
    case Kind::resource:
    case Kind::dispatch:
      break;
  }
}

Dispatch dispatch_of(const Slots& slots, const Pass& pass, const Command& command) {
  if (slots.pipeline == nil) throw InvalidUse("a dispatch without a pipeline");
  Dispatch dispatch;
  dispatch.pipeline = slots.pipeline->_pipeline;
  dispatch.grid = size3(command.grid);
  dispatch.grid_in_threads = command.in_threads;
  dispatch.threads = size3(command.threads);
  const metalbench::PipelineInfo& info = dispatch.pipeline->info();
  for (const Argument& argument : info.arguments) {
    if (argument.kind == ArgumentKind::threadgroup) {
      const NSUInteger bytes = slots.threadgroup_bytes.at(argument.index);
      if (bytes == 0) reject(argument, "no threadgroup memory length is set");
      dispatch.threadgroup_memory.push_back({argument.index, static_cast<std::uint32_t>(bytes)});
    } else {
      dispatch.bindings.push_back(
          {argument.index, argument.name, value_of(info, argument, slots, pass)});
    }
  }
  check_geometry(slots, dispatch);
  return dispatch;
}

}  // namespace metal_double
