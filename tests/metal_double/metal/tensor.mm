#include "tensor.h"

#include <algorithm>
#include <stdexcept>

#include "control.h"
#include "data_types.h"
#include "errors.h"
#include "resource_ids.h"

using metal_double::violation;
using metalbench::Argument;
using metalbench::PipelineInfo;

namespace {

constexpr NSUInteger most_dimensions = 16;
constexpr NSUInteger usage_compute = 1;
// Of half a byte: MTLTensorDataTypeInt4 and its unsigned kin.
constexpr NSInteger int4_type = 143;
constexpr NSInteger uint4_type = 144;
constexpr NSInteger invalid_descriptor = 2;

NSUInteger bits_of(NSInteger data_type) {
  switch (data_type) {
    case int4_type:
    case uint4_type:
      return 4;
    case MTLDataTypeChar:
    case MTLDataTypeUChar:
      return 8;
    case MTLDataTypeHalf:
    case MTLDataTypeBFloat:
    case MTLDataTypeShort:
    case MTLDataTypeUShort:
      return 16;
    case MTLDataTypeFloat:
    case MTLDataTypeInt:
    case MTLDataTypeUInt:
      return 32;
    default:
      throw std::invalid_argument("no tensor has the data type " + std::to_string(data_type));
  }
}

std::vector<std::int64_t> values(MTLTensorExtents* extents) {
  std::vector<std::int64_t> found;
  for (NSUInteger i = 0; i < extents.rank; ++i) found.push_back([extents extentAtDimensionIndex:i]);
  return found;
}

// As MTLTensor.h of macOS 26 asks for.
void check(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
           NSUInteger bits, NSUInteger offset, NSUInteger length) {
  const bool has_order = metal_double::value(metal_double::Switch::os_major) < 27;
  if (strides.size() != sizes.size()) throw std::invalid_argument("strides of another rank");
  if (strides.empty() || strides[0] != 1) throw std::invalid_argument("the first stride is not 1");
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) throw std::invalid_argument("a dimension is not positive");
    if (has_order && i > 0 && strides[i] < strides[i - 1] * sizes[i - 1]) {
      throw std::invalid_argument("a stride is less than the extent of the dimension before");
    }
    if (bits == 4 && i > 0 && strides[i] % 256 != 0) {
      throw std::invalid_argument("rows of four bits are not aligned to 128 bytes");
    }
    elements += (sizes[i] - 1) * strides[i];
  }
  if (bits == 4 && sizes[0] % 32 != 0) throw std::invalid_argument("rows of not 32 elements");
  const NSUInteger alignment = bits == 4 ? 128 : bits / 8;
  if (offset % alignment != 0) throw std::invalid_argument("the offset is not aligned");
  if (offset + (static_cast<NSUInteger>(elements) * bits + 7) / 8 > length) {
    throw std::invalid_argument("the elements do not fit the buffer");
  }
}

}  // namespace

@implementation MTLTensorExtents {
  std::vector<NSInteger> _values;
}
- (instancetype)initWithRank:(NSUInteger)rank values:(const NSInteger*)values {
  if (rank > most_dimensions || (rank != 0 && values == nullptr)) return nil;
  if ((self = [super init]) != nil) _values.assign(values, values + rank);
  return self;
}
- (id)copyWithZone:(NSZone*)__attribute__((unused)) zone {
  return self;
}
- (NSUInteger)rank {
  return _values.size();
}
- (NSInteger)extentAtDimensionIndex:(NSUInteger)dimensionIndex {
  return dimensionIndex < _values.size() ? _values[dimensionIndex] : -1;
}
@end

@implementation MTLTensorDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _dataType = MTLDataTypeFloat;
    _usage = 3;
  }
  return self;
}
@end

@implementation DoubleTensor
- (void)dealloc {
  metal_double::leave(_gpuResourceID);
}
- (void)enter {
  _gpuResourceID = metal_double::enter(self);
}
@end

namespace metal_double {

DoubleTensor* make_tensor(DoubleBuffer* buffer, MTLTensorDescriptor* descriptor, NSUInteger offset,
                          __autoreleasing NSError** error) {
  try {
    const std::vector<std::int64_t> sizes = values(descriptor.dimensions);
    const std::vector<std::int64_t> strides = values(descriptor.strides);
    check(sizes, strides, bits_of(descriptor.dataType), offset, buffer->_length);
    if ((descriptor.usage & usage_compute) == 0) throw std::invalid_argument("no use for compute");
    DoubleTensor* tensor = [[DoubleTensor alloc] init];
    tensor->_buffer = buffer;
    tensor->_offset = offset;
    tensor->_dataType = descriptor.dataType;
    tensor->_numbers = sizes;
    tensor->_numbers.insert(tensor->_numbers.end(), strides.begin(), strides.end());
    [tensor enter];
    return tensor;
  } catch (const std::exception& problem) {
    violation(std::string("newTensorWithDescriptor: ") + problem.what());
    report(error, @"MTLTensorDomain", invalid_descriptor, problem.what());
    return nil;
  }
}

NSInteger tensor_data_type(const std::string& type) {
  const std::string last = type.substr(type.rfind(':') + 1);
  if (last == "int4b_format") return int4_type;
  if (last == "uint4b_format") return uint4_type;
  return static_cast<NSInteger>(data_type(type));
}

NSUInteger rank_of(const PipelineInfo& info, const Argument& tensor) {
  const std::string name = tensor.name + std::string(metalbench::extents_suffix);
  const auto found = std::ranges::find(info.arguments, name, &Argument::name);
  return found == info.arguments.end() ? 0 : metalbench::tensor_rank(*found);
}

bool is_tensor(const PipelineInfo& info, const Argument& argument) {
  const std::string name = argument.name + std::string(metalbench::extents_suffix);
  return std::ranges::find(info.arguments, name, &Argument::name) != info.arguments.end();
}

}  // namespace metal_double
