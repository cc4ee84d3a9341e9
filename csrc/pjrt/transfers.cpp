#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const std::int64_t* items, std::size_t count, const char* what) {
  if (count > 0) given(items, what);
  return count > 0 ? Numbers(items, items + count) : Numbers();
}

// Row-major strides in bytes for an order of axes, the fastest first.
Numbers strides_of(const Numbers& dimensions, const Numbers& minor_to_major, std::size_t bytes) {
  Numbers strides(dimensions.size());
  auto step = static_cast<std::int64_t>(bytes);
  for (const std::int64_t axis : minor_to_major) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= dimensions[static_cast<std::size_t>(axis)];
  }
  return strides;
}

Numbers row_major(const Numbers& dimensions, std::size_t bytes) {
  Numbers order;
  for (std::size_t axis = dimensions.size(); axis-- > 0;) {
    order.push_back(static_cast<std::int64_t>(axis));
  }
  return strides_of(dimensions, order, bytes);
}

// Return the strides in bytes of an array in the host's memory.
Numbers host_strides(const Layout* layout, const Numbers& dimensions, std::size_t bytes) {
  if (layout == nullptr) return row_major(dimensions, bytes);
  const bool tiled = layout->kind == LayoutKind::kTiled;
  if (tiled && layout->tiled.tiles > 0) {
    throw Failure(Code::kUnimplemented, "expected a layout without tiles");
  }
  const Numbers found =
      tiled ? numbers(layout->tiled.minor_to_major, layout->tiled.rank, "minor_to_major")
            : numbers(layout->strides.bytes, layout->strides.rank, "byte_strides");
  if (found.size() != dimensions.size()) {
    throw Failure(Code::kInvalidArgument, "layout: expected " + std::to_string(dimensions.size()) +
                                              " dimensions, got " + std::to_string(found.size()));
  }
  if (!tiled) return found;
  Numbers sorted = found;
  std::ranges::sort(sorted);
  for (std::size_t axis = 0; axis < sorted.size(); ++axis) {
    if (sorted[axis] != static_cast<std::int64_t>(axis)) {
      throw Failure(Code::kInvalidArgument, "minor_to_major: expected each axis once");
    }
  }
  return strides_of(dimensions, found, bytes);
}

// Copies elements between two arrays with the same dimensions and other strides.
class StridedCopy {
 public:
  StridedCopy(const Numbers& dimensions, const Numbers& to, const Numbers& from, std::size_t bytes)
      : dimensions_(dimensions), to_(to), from_(from), bytes_(bytes) {}

  void run(std::byte* to, const std::byte* from, std::size_t axis = 0) const {
    if (axis == dimensions_.size()) {
      std::memcpy(to, from, bytes_);
      return;
    }
    const std::int64_t size = dimensions_[axis];
    const auto element = static_cast<std::int64_t>(bytes_);
    if (axis + 1 == dimensions_.size() && to_[axis] == element && from_[axis] == element) {
      std::memcpy(to, from, static_cast<std::size_t>(size) * bytes_);
      return;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      run(to + i * to_[axis], from + i * from_[axis], axis + 1);
    }
  }

 private:
  const Numbers &dimensions_, &to_, &from_;
  std::size_t bytes_;
};

// Integers of fewer than eight bits are stored in a byte each, with the sign in all upper bits.
void extend(std::vector<std::byte>& elements, const ElementLayout& layout) {
  const unsigned unused = 8 - layout.bits;
  for (std::byte& element : elements) {
    const auto shifted = static_cast<std::uint8_t>(std::to_integer<unsigned>(element) << unused);
    element = layout.is_signed ? static_cast<std::byte>(static_cast<std::int8_t>(shifted) >> unused)
                               : static_cast<std::byte>(shifted >> unused);
  }
}

const ElementLayout& layout_of(const Client& client, int type) {
  const auto number = static_cast<std::size_t>(type);
  if (type < 0 || number >= client.elements.size() || client.elements[number].bytes == 0) {
    const WithGil held;
    (void)nb::module_::import_(kRuntime).attr("find_pjrt_type")(type);
    throw Failure(Code::kUnimplemented, "the element type has no layout");
  }
  return client.elements[number];
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

}  // namespace

std::size_t count_bytes(const Client& client, int type, const Numbers& dimensions) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t size : dimensions) {
    fits = fits && size >= 0 && (size == 0 || count <= most / size);
    if (fits) count *= size;
  }
  if (!fits) {
    throw Failure(Code::kInvalidArgument,
                  "dims: expected sizes of at most " + std::to_string(most) + " elements");
  }
  return static_cast<std::size_t>(count) * layout_of(client, type).bytes;
}

namespace {

void from_host(FromHost& arguments) {
  Client& client = given(arguments.client, "a client");
  check_own(client, arguments.device, arguments.memory);
  check_layout(arguments.layout, arguments.rank);
  Numbers dimensions = numbers(arguments.dimensions, arguments.rank, "dims");
  const Numbers strides = numbers(arguments.byte_strides, arguments.stride_count, "byte_strides");
  if (!strides.empty() && strides.size() != dimensions.size()) {
    throw Failure(Code::kInvalidArgument, "byte_strides: expected as many as dims");
  }
  const ElementLayout& element = layout_of(client, arguments.type);
  const std::size_t bytes = count_bytes(client, arguments.type, dimensions);
  const auto* from = static_cast<const std::byte*>(arguments.data);
  if (bytes > 0 && from == nullptr) {
    throw Failure(Code::kInvalidArgument, "expected the host's memory, got null");
  }
  const Numbers plain = row_major(dimensions, element.bytes);
  std::vector<std::byte> rearranged;
  const bool is_strided = bytes > 0 && arguments.stride_count > 0 && strides != plain;
  if (is_strided || (bytes > 0 && element.bits < 8)) {
    rearranged.resize(bytes);
    StridedCopy(dimensions, plain, is_strided ? strides : plain, element.bytes)
        .run(rearranged.data(), from);
    if (element.bits < 8) extend(rearranged, element);
    from = rearranged.data();
  }
  std::optional<metalbench::Buffer> memory;
  {
    // The copy is complete on return, so the caller may reuse its memory at once.
    const WithoutGil released;
    check(execution().upload(*client.queue, from, bytes, memory));
  }
  auto value = std::make_shared<Value>(std::move(memory), std::make_shared<Completion>(nullptr));
  auto buffer = std::make_unique<Buffer>(client, std::move(value), bytes, arguments.type,
                                         std::move(dimensions));
  arguments.done = new Event;
  arguments.buffer = buffer.release();
}

void to_host(ToHost& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  if (arguments.data == nullptr) {
    arguments.size = buffer.bytes;
    return;
  }
  const metalbench::Buffer memory = buffer.memory();
  const Client& client = given(buffer.client, "a client");
  const std::size_t element = layout_of(client, buffer.type).bytes;
  const Numbers strides = host_strides(arguments.layout, buffer.dimensions, element);
  if (arguments.size < buffer.bytes) {
    throw Failure(Code::kInvalidArgument, "dst_size: expected at least " +
                                              std::to_string(buffer.bytes) + ", got " +
                                              std::to_string(arguments.size));
  }
  auto* to = static_cast<std::byte*>(arguments.data);
  const Numbers plain = row_major(buffer.dimensions, element);
  const WithoutGil released;
  if (strides == plain || buffer.bytes == 0) {
    check(execution().download(*client.queue, memory, 0, buffer.bytes, to));
  } else {
    std::vector<std::byte> elements(buffer.bytes);
    check(execution().download(*client.queue, memory, 0, buffer.bytes, elements.data()));
    StridedCopy(buffer.dimensions, strides, plain, element).run(to, elements.data());
  }
  arguments.done = new Event;
}

void raw_to_host(CopyRawToHost& arguments) {
  const Buffer& buffer = given(arguments.buffer, "a buffer");
  if (arguments.size > 0) given(static_cast<char*>(arguments.data), "memory");
  const metalbench::Buffer memory = buffer.memory();
  const auto size = static_cast<std::int64_t>(buffer.bytes);
  const std::int64_t offset = arguments.offset, count = arguments.size;
  if (offset < 0 || count < 0 || count > size || offset > size - count) {
    throw Failure(Code::kInvalidArgument, "expected a range of " + std::to_string(size) +
                                              " bytes, got " + std::to_string(count) + " from " +
                                              std::to_string(offset) + " on");
  }
  const WithoutGil released;
  check(execution().download(*given(buffer.client, "a client").queue, memory,
                             static_cast<std::size_t>(offset), static_cast<std::size_t>(count),
                             static_cast<std::byte*>(arguments.data)));
  arguments.done = new Event;
}

// Buffers are immutable, so a copy on the same device shares the elements.
Buffer* copied(const Buffer& buffer) {
  Client& client = given(buffer.client, "a client");
  return new Buffer(client, buffer.value(), buffer.bytes, buffer.type, buffer.dimensions);
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
