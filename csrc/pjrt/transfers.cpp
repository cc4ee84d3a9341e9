#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const std::int64_t* items, std::size_t count, const char* what) {
  if (count > 0) given(items, what);
  return count > 0 ? Numbers(items, items + count) : Numbers();
}

nb::tuple tuple_of(const Numbers& items) { return nb::tuple(nb::cast(items)); }

// Returns the layout of an array in host memory: its order of axes or strides in bytes; None if
// row-major.
nb::tuple order_of(const Layout* layout, std::size_t rank) {
  if (layout == nullptr) return nb::make_tuple(nb::none(), nb::none());
  const bool tiled = layout->kind == LayoutKind::kTiled;
  if (tiled && layout->tiled.tiles > 0) {
    throw Failure(Code::kUnimplemented, "expected a layout without tiles");
  }
  const Numbers found =
      tiled ? numbers(layout->tiled.minor_to_major, layout->tiled.rank, "minor_to_major")
            : numbers(layout->strides.bytes, layout->strides.rank, "byte_strides");
  if (found.size() != rank) {
    throw Failure(Code::kInvalidArgument, "layout: expected " + std::to_string(rank) +
                                              " dimensions, got " + std::to_string(found.size()));
  }
  if (tiled) return nb::make_tuple(tuple_of(found), nb::none());
  return nb::make_tuple(nb::none(), tuple_of(found));
}

void check_layout(const Layout* layout, std::size_t rank) {
  if (layout == nullptr) return;
  bool plain =
      layout->kind == LayoutKind::kTiled && layout->tiled.tiles == 0 && layout->tiled.rank == rank;
  for (std::size_t number = 0; plain && number < rank; ++number) {
    plain = layout->tiled.minor_to_major[number] == static_cast<std::int64_t>(rank - 1 - number);
  }
  if (!plain) {
    throw Failure(Code::kUnimplemented, "device_layout: buffers of this device are row-major");
  }
}

void from_host(FromHost& arguments) {
  Client& client = given(arguments.client, "a client");
  check_own(client, arguments.device, arguments.memory);
  check_layout(arguments.layout, arguments.rank);
  Numbers dimensions = numbers(arguments.dimensions, arguments.rank, "dims");
  const Numbers strides = numbers(arguments.byte_strides, arguments.stride_count, "byte_strides");
  if (!strides.empty() && strides.size() != dimensions.size()) {
    throw Failure(Code::kInvalidArgument, "byte_strides: expected as many as dims");
  }
  nb::gil_scoped_acquire held;
  // The copy is complete on return, so the caller may reuse its memory at once.
  nb::object made = client.runtime.get().attr("from_host")(
      reinterpret_cast<std::uintptr_t>(arguments.data), arguments.type, tuple_of(dimensions),
      arguments.stride_count > 0 ? nb::object(tuple_of(strides)) : nb::object(nb::none()));
  auto buffer = buffer_of(client, std::move(made), arguments.type, std::move(dimensions));
  arguments.done = new Event;
  arguments.buffer = buffer.release();
}

void to_host(ToHost& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  if (arguments.data == nullptr) {
    arguments.size = buffer.bytes;
    return;
  }
  nb::gil_scoped_acquire held;
  const nb::object tensor = tensor_of(buffer);
  const nb::tuple order = order_of(arguments.layout, buffer.dimensions.size());
  given(buffer.client, "a client")
      .runtime.get()
      .attr("to_host")(tensor, reinterpret_cast<std::uintptr_t>(arguments.data), arguments.size,
                       order[0], order[1]);
  arguments.done = new Event;
}

void raw_to_host(CopyRawToHost& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  if (arguments.size > 0) given(static_cast<char*>(arguments.data), "memory");
  nb::gil_scoped_acquire held;
  given(buffer.client, "a client")
      .runtime.get()
      .attr("raw_to_host")(tensor_of(buffer), reinterpret_cast<std::uintptr_t>(arguments.data),
                           arguments.offset, arguments.size);
  arguments.done = new Event;
}

// Buffers are immutable, so a copy on the same device shares the elements.
Buffer* copied(const Buffer& buffer) {
  nb::gil_scoped_acquire held;
  Client& client = given(buffer.client, "a client");
  return buffer_of(client, tensor_of(buffer), buffer.type, buffer.dimensions).release();
}

void copy_to_device(CopyToDevice& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  check_own(given(buffer.client, "a client"), &given(arguments.device, "a device"), nullptr);
  arguments.made = copied(buffer);
}

void copy_to_memory(CopyToMemory& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  check_own(given(buffer.client, "a client"), nullptr, &given(arguments.memory, "a memory"));
  arguments.made = copied(buffer);
}

}  // namespace

void define_transfers(Api& api) {
  define<Function::Client_BufferFromHostBuffer, &from_host>(api);
  define<Function::Buffer_ToHostBuffer, &to_host>(api);
  define<Function::Buffer_CopyRawToHost, &raw_to_host>(api);
  define<Function::Buffer_CopyToDevice, &copy_to_device>(api);
  define<Function::Buffer_CopyToMemory, &copy_to_memory>(api);
}

}  // namespace metalbench::pjrt
