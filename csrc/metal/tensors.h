// Kernel parameters that are tensors of Metal 4: their reflection, and MTLTensor objects over
// buffers. A tensor of the kernel's own (`tensor_inline`) needs none of this.
#pragma once

#import <Metal/Metal.h>

#include <string>

#include "core/dispatch.h"
#include "metal/capabilities.h"
#include "metal/metal4_api.h"

namespace metalbench::metal {

[[nodiscard]] inline bool is_tensor(id<MTLBinding> binding) {
  return static_cast<NSInteger>(binding.type) == metal4_binding_type_tensor;
}
// Set what reflection says about a tensor.
void describe_tensor(id<MTLBinding> binding, Argument& argument);
// Return the second argument of a tensor, which no argument table has.
[[nodiscard]] Argument extents_argument(id<MTLBinding> binding, const Argument& tensor);

// Return whether the kernel needs the MTLTensor of an argument.
[[nodiscard]] bool has_tensors(const PipelineInfo& info);
// Throw Unsupported for a kernel with tensors where the GPU has none.
void require_tensors(const PipelineInfo& info, const Capabilities& capabilities);

// Return the binding of extents and strides that belongs to this one; null if this is not a tensor.
[[nodiscard]] const Binding* extents_of(const Dispatch& dispatch, const Binding& tensor);

// A part of an MTLBuffer with extents and strides, the innermost dimension first.
struct TensorPlace {
  id<MTLBuffer> buffer;
  NSUInteger offset = 0;
  std::size_t bytes = 0;
  std::size_t rank = 0;
  const Value* extents = nullptr;
};

// Return a tensor over the buffer; nil if reflection leaves it out, because the kernel does not use
// it. Throws DispatchError for extents and strides that Metal does not take, Error with its reason.
[[nodiscard]] id<MetalBenchTensor> make_tensor(const TensorPlace& place, const Argument& argument,
                                               const Capabilities& capabilities,
                                               const std::string& where);

}  // namespace metalbench::metal
