#include <utility>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace {

void destroy_buffer(Only<Buffer>& arguments) { destroy_given(arguments.of, "a buffer"); }

// The client may be destroyed before its buffers.
Client& owner(const Buffer* buffer) { return given(given(buffer, "a buffer").client, "a client"); }

void type(Ask<Buffer, int>& arguments) { arguments.out = given(arguments.of, "a buffer").type; }

void dimensions(List<Buffer, std::int64_t>& arguments) {
  const Buffer& buffer = given(arguments.of, "a buffer");
  arguments.items = buffer.dimensions.data();
  arguments.count = buffer.dimensions.size();
}

void dynamic_dimensions(List<Buffer, std::size_t>& arguments) {
  given(arguments.of, "a buffer");
  arguments.items = nullptr;
  arguments.count = 0;
}

void layout(MemoryLayout& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  Tiled tiled{};
  tiled.head.size = sizeof(Tiled);
  tiled.minor_to_major = buffer.minor_to_major.data();
  tiled.rank = buffer.minor_to_major.size();
  arguments.layout.kind = LayoutKind::kTiled;
  arguments.layout.tiled = tiled;
}

void size(Ask<Buffer, std::size_t>& arguments) {
  arguments.out = given(arguments.of, "a buffer").bytes;
}

void device(Ask<Buffer, Device*>& arguments) { arguments.out = &owner(arguments.of).device; }

void memory(Ask<Buffer, Memory*>& arguments) { arguments.out = &owner(arguments.of).memory; }

void delete_buffer(Only<Buffer>& arguments) { given(arguments.of, "a buffer").remove(); }

void is_buffer_deleted(Ask<Buffer, bool>& arguments) {
  arguments.out = given(arguments.of, "a buffer").deleted;
}

void is_on_cpu(Ask<Buffer, bool>& arguments) {
  // Then jaxlib reads the memory directly, without a copy. It asks when it needs the elements.
  const bool is_host = owner(arguments.of).has_host_memory;
  const std::shared_ptr<Completion> run = arguments.of->completion();
  // jaxlib ends the process for an error here. Without the memory, it asks for a copy.
  arguments.out = run->try_submit() && is_host && run->marker() == nullptr;
}

void ready(Ask<Buffer, Event*>& arguments) {
  const Buffer& buffer = given(arguments.of, "a buffer");
  auto event = std::make_unique<Event>(buffer.completion(), true);
  if (buffer.deleted) {
    event->error = Error{Code::kInvalidArgument, "the buffer was deleted or donated"};
  }
  arguments.out = event.release();
}

void address(Ask<Buffer, std::uintptr_t>& arguments) {
  const metalbench::Buffer memory = given(arguments.of, "a buffer").memory();
  arguments.out = memory.storage()->address() + memory.offset();
}

void take_reference(Only<Buffer>& arguments) { given(arguments.of, "a buffer").share(); }

void drop_reference(Only<Buffer>& arguments) { given(arguments.of, "a buffer").unshare(); }

}  // namespace

Buffer::Buffer(Client& owner, std::shared_ptr<Value> value, std::size_t bytes, int type,
               std::vector<std::int64_t> dimensions)
    : client(&owner),
      type(type),
      dimensions(std::move(dimensions)),
      bytes(bytes),
      value_(std::move(value)),
      completion_(value_->completion) {
  for (std::size_t number = this->dimensions.size(); number-- > 0;) {
    minor_to_major.push_back(static_cast<std::int64_t>(number));
  }
}

std::shared_ptr<Value> Buffer::value() const {
  const std::lock_guard lock(mutex_);
  if (deleted || value_ == nullptr) {
    throw Failure(Code::kInvalidArgument,
                  "expected a live buffer, got one that was deleted or donated");
  }
  return value_;
}

metalbench::Buffer Buffer::memory() const {
  const std::shared_ptr<Value> found = value();
  // After Ctrl-C, the elements can still be computed by the next reader.
  completion_->submit();
  if (const auto& error = completion_->error()) throw Failure(error->code, error->message);
  return *found->memory;
}

void Buffer::remove() {
  const std::lock_guard lock(mutex_);
  deleted = true;
  value_.reset();
}

void Buffer::share() {
  metalbench::Buffer shared = memory();
  const std::lock_guard lock(mutex_);
  ++references_;
  shared_ = std::move(shared);
}

void Buffer::unshare() {
  const std::lock_guard lock(mutex_);
  if (references_ == 0) {
    throw Failure(Code::kFailedPrecondition, "expected a reference that was taken, got none");
  }
  if (--references_ == 0) shared_.reset();
}

void define_buffers(Api& api) {
  define<Function::Buffer_Destroy, &destroy_buffer>(api);
  define<Function::Buffer_ElementType, &type>(api);
  define<Function::Buffer_Dimensions, &dimensions>(api);
  define<Function::Buffer_UnpaddedDimensions, &dimensions>(api);
  define<Function::Buffer_DynamicDimensionIndices, &dynamic_dimensions>(api);
  define<Function::Buffer_GetMemoryLayout, &layout>(api);
  define<Function::Buffer_OnDeviceSizeInBytes, &size>(api);
  define<Function::Buffer_Device, &device>(api);
  define<Function::Buffer_Memory, &memory>(api);
  define<Function::Buffer_Delete, &delete_buffer>(api);
  define<Function::Buffer_IsDeleted, &is_buffer_deleted>(api);
  define<Function::Buffer_IsOnCpu, &is_on_cpu>(api);
  define<Function::Buffer_ReadyEvent, &ready>(api);
  define<Function::Buffer_UnsafePointer, &address>(api);
  define<Function::Buffer_OpaqueDeviceMemoryDataPointer, &address>(api);
  define<Function::Buffer_IncreaseExternalReferenceCount, &take_reference>(api);
  define<Function::Buffer_DecreaseExternalReferenceCount, &drop_reference>(api);
}

}  // namespace metalbench::pjrt
