#include "replay.h"

#include <string>
#include <unordered_map>

#include "slots.h"

namespace metal_double {
namespace {

using metalbench::Argument;
using metalbench::ArgumentKind;

template <class T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& key, const Argument& argument, const Slots& slots, const Pass& pass) {
  switch (argument.kind) {
    case ArgumentKind::buffer: {
      const BufferSlot& slot = slots.buffers.at(argument.index);
      append(key, (__bridge const void*)slot.buffer);
      append(key, (__bridge const void*)slot.tensor);
      if (slot.bytes == 0) {
        append(key, slot.offset);
      } else {
        key.append(reinterpret_cast<const char*>(pass.bytes.data()) + slot.offset, slot.bytes);
      }
      break;
    }
    case ArgumentKind::threadgroup:
      append(key, slots.threadgroup_bytes.at(argument.index));
      break;
    case ArgumentKind::texture:
      for (std::uint32_t i = 0; i < argument.texture.count; ++i) {
        append(key, (__bridge const void*)slots.textures.at(argument.index + i));
      }
      break;
    case ArgumentKind::sampler:
      for (std::uint32_t i = 0; i < argument.texture.count; ++i) {
        append(key, (__bridge const void*)slots.samplers.at(argument.index + i));
      }
      break;
  }
}

void add_use(Replay& replay, DoubleBuffer* buffer, NSUInteger offset, bool writes) {
  replay.uses.push_back({.resource = (__bridge const void*)buffer,
                         .memory = buffer->_storage->bytes().subspan(offset),
                         .writes = writes,
                         .tracked = buffer->_tracked});
  replay.resident.push_back(buffer);
}

void add_use(Replay& replay, DoubleTexture* texture, bool writes) {
  if (texture.buffer != nil) {
    add_use(replay, static_cast<DoubleBuffer*>(texture.buffer), 0, writes);
    return;
  }
  replay.uses.push_back({.resource = (__bridge const void*)texture,
                         .memory = texture->_texture->buffer().bytes(),
                         .writes = writes});
}

// What the kernel does with what is bound, as its parameters say.
void add_uses(Replay& replay, const Slots& slots) {
  for (const Argument& argument : slots.pipeline->_pipeline->info().arguments) {
    const bool writes = argument.access == metalbench::Access::write ||
                        argument.access == metalbench::Access::read_write;
    if (argument.kind == ArgumentKind::buffer) {
      const BufferSlot& slot = slots.buffers.at(argument.index);
      if (slot.buffer != nil) add_use(replay, slot.buffer, slot.offset, writes);
    } else if (argument.kind == ArgumentKind::texture) {
      for (std::uint32_t i = 0; i < argument.texture.count; ++i) {
        add_use(replay, slots.textures.at(argument.index + i), writes);
      }
    }
  }
}

// Of a resource that the host names because kernels reach it by its address.
void add_use(Replay& replay, const Command& command) {
  auto* const buffer = static_cast<DoubleBuffer*>(command.object);
  const bool writes = (command.amount & MTLResourceUsageWrite) != 0;
  if ([buffer isKindOfClass:[DoubleBuffer class]]) add_use(replay, buffer, 0, writes);
}

// Equal for dispatches that do the same.
std::string key_of(const Slots& slots, const Pass& pass, const Command& command) {
  std::string key;
  append(key, (__bridge const void*)slots.pipeline);
  append(key, command.in_threads);
  append(key, command.grid);
  append(key, command.threads);
  if (slots.pipeline == nil) return key;
  for (const Argument& argument : slots.pipeline->_pipeline->info().arguments) {
    append(key, argument, slots, pass);
  }
  return key;
}

}  // namespace

Replay replay(const Pass& pass) {
  Replay replay;
  Slots slots;
  std::unordered_map<std::string, std::uint32_t> known;
  for (const Command& command : pass.commands) {
    if (command.kind != Command::Kind::dispatch) {
      if (command.kind == Command::Kind::resource) add_use(replay, command);
      slots.apply(command);
      continue;
    }
    const auto [found, is_new] =
        known.emplace(key_of(slots, pass, command), static_cast<std::uint32_t>(known.size()));
    if (is_new) {
      replay.distinct.push_back(dispatch_of(slots, pass, command));
      add_uses(replay, slots);
    }
    replay.order.insert(replay.order.end(), command.repeats, found->second);
  }
  return replay;
}

}  // namespace metal_double
