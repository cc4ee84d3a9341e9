#include "metal/tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "core/errors.h"
#include "metal/data_types.h"
#include "metal/errors.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

// Elements of half a byte, which MTLTensorDataType has as of macOS 26.4. They have no MTLDataType.
struct FourBitFormat {
  NSInteger data_type;
  const char* name;
};
constexpr FourBitFormat four_bit_formats[] = {{143, "int4b_format"}, {144, "uint4b_format"}};
constexpr NSInteger format_bits = 4;
// Of the innermost extent, in elements; of the offset and of the strides, in bytes.
constexpr NSInteger format_extent = 32;
constexpr NSInteger format_alignment = 128;

// The first macOS that takes strides in any order.
constexpr NSInteger first_without_order = 27;

const FourBitFormat* format_of(const Argument& argument) {
  const auto found = std::ranges::find_if(four_bit_formats, [&](const FourBitFormat& one) {
    return argument.type == one.name || argument.type.ends_with("::" + std::string(one.name));
  });
  return found == std::end(four_bit_formats) ? nullptr : found;
}

std::string extents_name(const std::string& tensor) { return tensor + std::string(extents_suffix); }

[[noreturn]] void reject(const std::string& where, const std::string& what) {
  throw DispatchError(where + ": " + what);
}

std::vector<NSInteger> numbers_of(const Value& value, std::size_t rank, const std::string& where) {
  std::span<const std::byte> bytes;
  if (const auto* given = std::get_if<Bytes>(&value)) bytes = *given;
  if (const auto* buffer = std::get_if<Buffer>(&value)) bytes = buffer->bytes();
  std::vector<NSInteger> numbers(bytes.size() / sizeof(NSInteger));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(NSInteger));
  if (numbers.size() != 2 * rank) {
    reject(where, "expected " + std::to_string(rank) +
                      " extents and as many strides of 64 bits, got " +
                      std::to_string(bytes.size()) + " bytes");
  }
  return numbers;
}

// MTLTensor.h lists what a caller has to ensure; Metal's validation stops the program otherwise.
void check_layout(std::span<const NSInteger> extents, std::span<const NSInteger> strides,
                  const Capabilities& capabilities, const std::string& where) {
  if (strides.front() != 1) {
    reject(where, "expected stride 1 of the innermost dimension, which Metal requires, got " +
                      std::to_string(strides.front()) + "; copy to dense rows");
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1) {
      reject(where, "expected extents of 1 or more, which Metal requires, got " +
                        std::to_string(extents[i]) + " at dimension " + std::to_string(i));
    }
    NSInteger least = 1;
    if (i != 0 && capabilities.os_major < first_without_order &&
        __builtin_mul_overflow(strides[i - 1], extents[i - 1], &least)) {
      reject(where, "the extents are larger than any memory");
    }
    if (strides[i] < least) {
      reject(where, "expected a stride of " + std::to_string(least) + " or more at dimension " +
                        std::to_string(i) + ", which Metal requires, got " +
                        std::to_string(strides[i]) + "; copy to an array of another layout");
    }
  }
}

void check_format(std::span<const NSInteger> extents, std::span<const NSInteger> strides,
                  NSUInteger offset, const std::string& where) {
  constexpr NSInteger elements = format_alignment * 8 / format_bits;
  const bool is_aligned =
      extents.front() % format_extent == 0 && offset % format_alignment == 0 &&
      std::ranges::all_of(strides.subspan(1), [](NSInteger one) { return one % elements == 0; });
  if (is_aligned) return;
  reject(where,
         "elements of four bits: expected rows of a multiple of 32 elements, at multiples of " +
             std::to_string(elements) +
             " elements from an offset of a multiple of 128 "
             "bytes, which Metal requires; pad the rows");
}

void check_size(std::span<const NSInteger> extents, std::span<const NSInteger> strides,
                NSInteger element_bits, std::size_t bytes, const std::string& where) {
  NSInteger last = 0;
  NSInteger bits = 0;
  bool fits = true;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    NSInteger reach = 0;
    fits = fits && !__builtin_mul_overflow(extents[i] - 1, strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  fits = fits && last < std::numeric_limits<NSInteger>::max() &&
         !__builtin_mul_overflow(last + 1, element_bits, &bits);
  if (fits && static_cast<std::size_t>(bits) <= bytes * 8) return;
  reject(where, "expected a buffer that holds all elements of the extents, got " +
                    std::to_string(bytes) + " bytes");
}

NSInteger data_type_of(const Argument& argument) {
  if (const FourBitFormat* const format = format_of(argument)) return format->data_type;
  return static_cast<NSInteger>(scalar_type(argument.element));
}

id new_extents(std::span<const NSInteger> numbers) {
  const id<MetalBenchTensorExtents> extents =
      static_cast<id>([NSClassFromString(@"MTLTensorExtents") alloc]);
  return [extents initWithRank:numbers.size() values:numbers.data()];
}

}  // namespace

void describe_tensor(id<MTLBinding> binding, Argument& argument) {
  const NSInteger type = static_cast<id<MetalBenchTensorBinding>>(binding).tensorDataType;
  argument.address_space = "device";
  const auto format = std::ranges::find(four_bit_formats, type, &FourBitFormat::data_type);
  if (format != std::end(four_bit_formats)) {
    argument.type = format->name;
    argument.element_bytes = 1;
    argument.alignment = format_alignment;
    return;
  }
  argument.type = type_name(static_cast<MTLDataType>(type));
  if (const auto vector = vector_type(static_cast<MTLDataType>(type))) {
    argument.element = vector->scalar;
    argument.element_bytes = scalar_bytes(vector->scalar);
    argument.alignment = argument.element_bytes;
  }
}

Argument extents_argument(id<MTLBinding> binding, const Argument& tensor) {
  const NSUInteger rank = static_cast<id<MetalBenchTensorBinding>>(binding).dimensions.rank;
  Argument extents;
  extents.name = extents_name(tensor.name);
  extents.index = tensor.index;
  extents.type = "array<long, " + std::to_string(2 * rank) + ">";
  extents.address_space = "constant";
  describe_extents(extents);
  return extents;
}

bool has_tensors(const PipelineInfo& info) {
  return std::ranges::any_of(info.arguments,
                             [](const Argument& argument) { return is_extents(argument); });
}

void require_tensors(const PipelineInfo& info, const Capabilities& capabilities) {
  if (capabilities.tensors || !has_tensors(info)) return;
  throw Unsupported("[" + info.name +
                    "] metal: parameters that are tensors need macOS 26 and a GPU "
                    "of Metal 4; this is " +
                    capabilities.name + " with macOS " + std::to_string(capabilities.os_major) +
                    "; make tensors of pointers in the kernel, or use the `cpu` device");
}

const Binding* extents_of(const Dispatch& dispatch, const Binding& tensor) {
  const std::string name = extents_name(tensor.name);
  const auto found = std::ranges::find(dispatch.bindings, name, &Binding::name);
  return found == dispatch.bindings.end() ? nullptr : &*found;
}

id<MetalBenchTensor> make_tensor(const TensorPlace& place, const Argument& argument,
                                 const Capabilities& capabilities, const std::string& where) {
  if (argument.element_bytes == 0) return nil;
  const bool is_format = format_of(argument) != nullptr;
  const std::vector<NSInteger> numbers = numbers_of(*place.extents, place.rank, where);
  const auto extents = std::span(numbers).first(numbers.size() / 2);
  const auto strides = std::span(numbers).last(numbers.size() / 2);
  check_layout(extents, strides, capabilities, where);
  if (is_format) check_format(extents, strides, place.offset, where);
  const NSInteger bits = is_format ? format_bits : NSInteger{8} * argument.element_bytes;
  check_size(extents, strides, bits, place.bytes, where);

  const id<MetalBenchTensorDescriptor> descriptor =
      static_cast<id>([[NSClassFromString(@"MTLTensorDescriptor") alloc] init]);
  descriptor.dimensions = new_extents(extents);
  descriptor.strides = new_extents(strides);
  descriptor.dataType = data_type_of(argument);
  descriptor.usage = metal4_tensor_usage_compute;
  const id owner = place.buffer;
  NSError* error = nil;
  const id<MetalBenchTensor> tensor =
      [static_cast<id<MetalBenchTensorBuffer>>(owner) newTensorWithDescriptor:descriptor
                                                                       offset:place.offset
                                                                        error:&error];
  if (tensor == nil) throw Error(where + ": Metal makes no tensor: " + describe(error));
  tensor.label = to_ns(where);
  return tensor;
}

}  // namespace metalbench::metal
