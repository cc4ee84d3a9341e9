#include "executor/dispatch_messages.h"

#include "core/errors.h"
#include "executor/pipelines.h"
#include "executor/texture_messages.h"

namespace metalbench::executor {

void put(Writer& message, const Buffer& buffer) {
  SharedStorage& storage = shared(buffer);
  message.put(storage.arena()->number());
  message.put(storage.offset());
  message.put(std::uint64_t{storage.bytes().size()});
  message.put(std::uint64_t{buffer.offset()});
  message.put(std::uint64_t{buffer.size()});
  message.put_text(buffer.dtype());
  const auto& marks = storage.marks();
  message.put(std::uint32_t{marks != nullptr});
  if (marks == nullptr) return;
  message.put(marks->arena()->number());
  message.put(marks->offset());
}

namespace {

void put(Writer& message, const Bytes& bytes) { message.put_bytes(bytes); }

void put(Writer& message, const Size3& size) {
  message.put(size.x);
  message.put(size.y);
  message.put(size.z);
}

}  // namespace

SharedStorage& shared(const Buffer& buffer) {
  auto* storage = dynamic_cast<SharedStorage*>(buffer.storage().get());
  if (storage == nullptr) {
    throw DispatchError("the buffer belongs to another device; allocate it on this one");
  }
  return *storage;
}

void put(Writer& message, const Dispatch& dispatch) {
  message.put(find_prebuilt(*dispatch.pipeline)->number);
  message.put(static_cast<std::uint32_t>(dispatch.bindings.size()));
  for (const Binding& binding : dispatch.bindings) {
    message.put(binding.index);
    message.put_text(binding.name);
    message.put(static_cast<std::uint32_t>(binding.value.index()));
    std::visit([&message](const auto& value) { put(message, value); }, binding.value);
  }
  message.put(static_cast<std::uint32_t>(dispatch.threadgroup_memory.size()));
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    message.put(memory.index);
    message.put(memory.bytes);
  }
  put(message, dispatch.grid);
  message.put(std::uint32_t{dispatch.grid_in_threads});
  put(message, dispatch.threads);
}

}  // namespace metalbench::executor
