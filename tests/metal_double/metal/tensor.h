// Tensors, which macOS 26 added. The headers do not declare them, as the SDK of macOS 14 does not;
// they are found by their selectors.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "buffer.h"
#include "core/library.h"

@interface MTLTensorExtents : NSObject <NSCopying>
- (instancetype)initWithRank:(NSUInteger)rank values:(const NSInteger*)values;
@property(readonly) NSUInteger rank;
- (NSInteger)extentAtDimensionIndex:(NSUInteger)dimensionIndex;
@end

@interface MTLTensorDescriptor : NSObject
@property(readwrite, nonatomic, copy) MTLTensorExtents* dimensions;
@property(readwrite, nonatomic, copy) MTLTensorExtents* strides;
@property(readwrite, nonatomic) NSInteger dataType;
@property(readwrite, nonatomic) NSUInteger usage;
@end

@interface DoubleTensor : NSObject {
 @public
  DoubleBuffer* _buffer;
  NSUInteger _offset;
  NSInteger _dataType;
  std::vector<std::int64_t> _numbers;  // the extents, then the strides
}
@property(copy, atomic) NSString* label;
@property(readonly) MTLResourceID gpuResourceID;
@end

namespace metal_double {

// Nil after an error.
[[nodiscard]] DoubleTensor* make_tensor(DoubleBuffer* buffer, MTLTensorDescriptor* descriptor,
                                        NSUInteger offset,
                                        __autoreleasing NSError** error) NS_RETURNS_RETAINED;

// MTLTensorDataType of an element as it is written in MSL; 0 for those that tensors do not have.
[[nodiscard]] NSInteger tensor_data_type(const std::string& type);
// Whether a parameter is a tensor: the engine lists extents for it.
[[nodiscard]] bool is_tensor(const metalbench::PipelineInfo& info,
                             const metalbench::Argument& argument);
// The parameter's rank.
[[nodiscard]] NSUInteger rank_of(const metalbench::PipelineInfo& info,
                                 const metalbench::Argument& tensor);

}  // namespace metal_double
