#include "metal/encode.h"

#include <algorithm>
#include <cstring>

#include "core/errors.h"
#include "metal/buffer.h"
#include "metal/metal4.h"
#include "metal/pipeline.h"
#include "metal/samplers.h"
#include "metal/strings.h"
#include "metal/tensors.h"

namespace metalbench::metal {
namespace {

constexpr std::size_t most_inline_bytes = 4096;  // limit of setBytes

MTLSize size_of(const Size3& size) { return {size.x, size.y, size.z}; }

Command launch_of(const Dispatch& dispatch) {
  return {.kind = dispatch.grid_in_threads ? Command::Kind::threads : Command::Kind::threadgroups,
          .grid = size_of(dispatch.grid),
          .threads = size_of(dispatch.threads)};
}

bool is_launch(const Command& command) {
  return command.kind == Command::Kind::threads || command.kind == Command::Kind::threadgroups;
}

// Two kinds may occupy the same slot of an encoder.
Command::Kind slot_kind(const Command& command) {
  return command.kind == Command::Kind::bytes ? Command::Kind::buffer : command.kind;
}

bool sets_the_same(const Command& a, const Command& b) {
  return a.kind == b.kind && a.object == b.object && a.offset == b.offset && a.length == b.length &&
         a.bytes == b.bytes;
}

void send(const Command& command, id<MTLComputeCommandEncoder> encoder) {
  switch (command.kind) {
    case Command::Kind::threads:
      [encoder dispatchThreads:command.grid threadsPerThreadgroup:command.threads];
      break;
    case Command::Kind::threadgroups:
      [encoder dispatchThreadgroups:command.grid threadsPerThreadgroup:command.threads];
      break;
    case Command::Kind::pipeline:
      [encoder setComputePipelineState:command.object];
      break;
    case Command::Kind::buffer:
      [encoder setBuffer:command.object offset:command.offset atIndex:command.index];
      break;
    case Command::Kind::bytes:
      [encoder setBytes:command.bytes.data() length:command.bytes.size() atIndex:command.index];
      break;
    case Command::Kind::texture:
      [encoder setTexture:command.object atIndex:command.index];
      break;
    case Command::Kind::sampler:
      [encoder setSamplerState:command.object atIndex:command.index];
      break;
    case Command::Kind::threadgroup_memory:
      [encoder setThreadgroupMemoryLength:command.length atIndex:command.index];
      break;
    case Command::Kind::tensor:
    case Command::Kind::arguments:
      break;  // only in scripts for encoders of Metal 4
    case Command::Kind::resource:
      [encoder useResource:command.object usage:MTLResourceUsageRead | MTLResourceUsageWrite];
      break;
  }
}

}  // namespace

void send(const Commands& commands, id<MTLComputeCommandEncoder> encoder) {
  for (const Command& command : commands) send(command, encoder);
}

void Script::add(const Dispatch& dispatch, id<MTLComputePipelineState> state) {
  if (!names_.empty()) names_ += ", ";
  names_ += dispatch.pipeline->info().name;
  if (dispatch.grid.count() == 0) return;
  Commands commands{{.kind = Command::Kind::pipeline, .object = state}};
  bind(dispatch, commands);
  if (is_metal4_) {
    bound_.push_back(commands);
    commands = with_argument_table(device_, commands, "[" + dispatch.pipeline->info().name + "]");
  }
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    commands.push_back(
        {.kind = Command::Kind::threadgroup_memory, .index = memory.index, .length = memory.bytes});
  }
  commands.push_back(launch_of(dispatch));
  dispatches_.push_back(std::move(commands));
  owners_.push_back(dispatch);
}

void Script::bind(const Dispatch& dispatch, Commands& commands) {
  const PipelineInfo& info = dispatch.pipeline->info();
  for (const Binding& binding : dispatch.bindings) {
    if (is_extents(argument_of(info, binding))) continue;
    if (const Binding* const extents = extents_of(dispatch, binding)) {
      bind_tensor(dispatch, binding, *extents, commands);
      continue;
    }
    const std::string where = "[" + info.name + "] " + binding.name;
    bind(binding, argument_of(info, binding), where, commands);
  }
  for (const Buffer& buffer : dispatch.resources) {
    const id<MTLBuffer> resource = storage_of(buffer, "[" + info.name + "] resources").buffer();
    // A resource has no index; its address identifies it.
    commands.push_back({.kind = Command::Kind::resource,
                        .index = static_cast<NSUInteger>(resource.gpuAddress),
                        .object = resource});
  }
}

void Script::bind(const Binding& binding, const Argument& argument, const std::string& where,
                  Commands& commands) {
  NSUInteger index = binding.index;
  const auto put = [&](Command command) {
    command.index = index++;
    commands.push_back(std::move(command));
  };
  if (const auto* buffer = std::get_if<Buffer>(&binding.value)) {
    const MetalStorage& storage = storage_of(*buffer, where);
    put({.kind = Command::Kind::buffer,
         .object = storage.buffer(),
         .offset = storage.offset() + buffer->offset()});
  } else if (const auto* bytes = std::get_if<Bytes>(&binding.value)) {
    put(constant(*bytes, where));
  } else if (const auto* textures = std::get_if<Textures>(&binding.value)) {
    for (const Texture& texture : *textures) {
      const id<MTLTexture> made = textures_.find(texture, argument);
      if (is_metal4_) resident_.add(made.buffer == nil ? static_cast<id>(made) : made.buffer);
      put({.kind = Command::Kind::texture, .object = made});
    }
  } else {
    for (const Sampler& sampler : std::get<Samplers>(binding.value)) {
      put({.kind = Command::Kind::sampler, .object = make_sampler(device_, sampler, where)});
    }
  }
}

void Script::bind_tensor(const Dispatch& dispatch, const Binding& tensor, const Binding& extents,
                         Commands& commands) {
  const PipelineInfo& info = dispatch.pipeline->info();
  const std::string where = "[" + info.name + "] " + tensor.name;
  const auto* const buffer = std::get_if<Buffer>(&tensor.value);
  if (buffer == nullptr) {
    throw DispatchError(where + ": expected a buffer or an array for a tensor, got a constant");
  }
  const MetalStorage& storage = storage_of(*buffer, where);
  const TensorPlace place{.buffer = storage.buffer(),
                          .offset = storage.offset() + buffer->offset(),
                          .bytes = buffer->size(),
                          .rank = tensor_rank(argument_of(info, extents)),
                          .extents = &extents.value};
  const id made = make_tensor(place, argument_of(info, tensor), capabilities_, where);
  if (made == nil) return;
  commands.push_back({.kind = Command::Kind::tensor, .index = tensor.index, .object = made});
}

// Return a constant as bytes in the command, or in a buffer: argument tables have only addresses.
Command Script::constant(const Bytes& bytes, const std::string& where) {
  if (!is_metal4_ && bytes.size() <= most_inline_bytes && !bytes.empty()) {
    return {.kind = Command::Kind::bytes, .bytes = bytes};
  }
  const id<MTLBuffer> buffer = [device_ newBufferWithLength:std::max<NSUInteger>(bytes.size(), 1)
                                                    options:MTLResourceStorageModeShared];
  if (buffer == nil) {
    throw OutOfMemoryError(where + ": Metal has no memory for a constant of " +
                           std::to_string(bytes.size()) + " bytes");
  }
  buffer.label = to_ns(where);
  std::memcpy(buffer.contents, bytes.data(), bytes.size());
  if (is_metal4_) resident_.add(buffer);
  return {.kind = Command::Kind::buffer, .object = buffer};
}

// Return the commands that differ from the slots' state.
Commands Script::one_pass(std::span<const Commands> dispatches, Slots& slots) {
  Commands pass;
  for (const Commands& dispatch : dispatches) {
    for (const Command& command : dispatch) {
      if (is_launch(command)) {
        pass.push_back(command);
        continue;
      }
      const auto [slot, added] = slots.try_emplace({slot_kind(command), command.index}, command);
      if (!added && sets_the_same(slot->second, command)) continue;
      slot->second = command;
      pass.push_back(command);
    }
  }
  return pass;
}

void Script::finish() {
  Slots slots;
  first_pass_ = one_pass(dispatches_, slots);
  // All later passes begin and end with the state that this pass leaves.
  later_pass_ = one_pass(dispatches_, slots);
  label_ = to_ns(names_);
}

void Script::encode(id<MTLComputeCommandEncoder> encoder, std::uint32_t passes) const {
  if (passes == 0) return;
  send(first_pass_, encoder);
  for (std::uint32_t pass = 1; pass < passes; ++pass) send(later_pass_, encoder);
}

}  // namespace metalbench::metal
