#include "pipeline.h"

#include <algorithm>

#include "archive.h"
#include "control.h"
#include "engine.h"
#include "errors.h"
#include "library.h"

using metal_double::Count;
using metal_double::report;

@implementation DoublePipeline
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLComputePipelineDescriptor*)descriptor
                         error:(__autoreleasing NSError**)error {
  if ((self = [super init]) == nil) return nil;
  _device = device;
  _label = descriptor.label;
  metal_double::count(Count::pipelines);
  if (metal_double::take(metal_double::Switch::fail_pipeline)) {
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal,
           "Compiler encountered an internal error");
    return nil;
  }
  auto* function = static_cast<DoubleFunction*>(descriptor.computeFunction);
  if (function == nil) {
    metal_double::violation("newComputePipelineStateWithDescriptor: computeFunction is nil");
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, "computeFunction is nil");
    return nil;
  }
  for (id<MTLBinaryArchive> archive in descriptor.binaryArchives) {
    if ([static_cast<DoubleArchive*>(archive) contains:function]) {
      metal_double::count(Count::archive_hits);
    }
  }
  try {
    _pipeline = function->_library->_library->pipeline(function->_function, function->_constants);
  } catch (...) {
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure,
           metal_double::current_exception_text());
    return nil;
  }
  _requiredThreads = descriptor.requiredThreadsPerThreadgroup;
  _needsRequiredThreads =
      function->_library->_source.find("cooperative_tensor") != std::string::npos;
  _maxThreads = _pipeline->info().max_threads;
  if (descriptor.maxTotalThreadsPerThreadgroup != 0) {
    _maxThreads = std::min(_maxThreads, descriptor.maxTotalThreadsPerThreadgroup);
  }
  if (const double limit = metal_double::value(metal_double::Switch::max_threads)) {
    _maxThreads = std::min(_maxThreads, static_cast<NSUInteger>(limit));
  }
  return self;
}
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return _maxThreads;
}
- (NSUInteger)threadExecutionWidth {
  return 32;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return _pipeline->info().threadgroup_bytes;
}
@end
