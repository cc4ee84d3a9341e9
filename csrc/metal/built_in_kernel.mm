#include "metal/built_in_kernel.h"

#include <string>

#include "core/errors.h"
#include "metal/errors.h"

namespace metalbench::metal {
namespace {

NSString* const copy_source = @"#include <metal_stdlib>\n"
                               "using namespace metal;\n"
                               "kernel void metalbench_copy(\n"
                               "    device uchar* to [[buffer(0)]],\n"
                               "    const device uchar* from [[buffer(1)]],\n"
                               "    constant ulong& bytes [[buffer(2)]],\n"
                               "    constant uint& by_bytes [[buffer(3)]],\n"
                               "    uint thread_number [[thread_position_in_grid]]) {\n"
                               "  const ulong begin = 16ul * thread_number;\n"
                               "  if (by_bytes == 0u && begin + 16ul <= bytes) {\n"
                               "    *(device uint4*)(to + begin) =\n"
                               "        *(const device uint4*)(from + begin);\n"
                               "    return;\n"
                               "  }\n"
                               "  const ulong end = begin + 16ul < bytes ? begin + 16ul : bytes;\n"
                               "  for (ulong i = begin; i < end; ++i) to[i] = from[i];\n"
                               "}\n";

}  // namespace

void BuiltInKernel::reject(NSError* error) const {
  throw CompileError(std::string("metal: ") + failure_ + ": " + describe(error));
}

id<MTLComputePipelineState> BuiltInKernel::state() {
  const std::lock_guard lock(mutex_);
  if (state_ == nil) state_ = compile();
  return state_;
}

id<MTLComputePipelineState> BuiltInKernel::compile() const {
  NSError* error = nil;
  const id<MTLLibrary> library = [device_ newLibraryWithSource:source_
                                                       options:[[MTLCompileOptions alloc] init]
                                                         error:&error];
  if (library == nil) reject(error);
  const id<MTLFunction> function =
      [library newFunctionWithName:name_
                    constantValues:[[MTLFunctionConstantValues alloc] init]
                             error:&error];
  if (function == nil) reject(error);
  auto* descriptor = [[MTLComputePipelineDescriptor alloc] init];
  descriptor.label = name_;
  descriptor.computeFunction = function;
  const id<MTLComputePipelineState> state =
      [device_ newComputePipelineStateWithDescriptor:descriptor
                                             options:MTLPipelineOptionNone
                                          reflection:nil
                                               error:&error];
  if (state == nil) reject(error);
  return state;
}

EmptyKernel::EmptyKernel(id<MTLDevice> device)
    : BuiltInKernel(device, @"metalbench_empty", @"kernel void metalbench_empty() {}\n",
                    "the empty kernel does not compile, so that nothing can be timed") {}

CopyKernel::CopyKernel(id<MTLDevice> device)
    : BuiltInKernel(device, @"metalbench_copy", copy_source,
                    "the copying kernel does not compile, so that queues cannot copy") {}

}  // namespace metalbench::metal
