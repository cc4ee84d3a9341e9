#include "archive.h"

#include <fstream>
#include <set>
#include <string>

#include "control.h"
#include "errors.h"

using metal_double::report;
using metal_double::Switch;
using metal_double::take;

namespace {

constexpr const char* first_line = "binary archive of the double";

std::string key_of(DoubleFunction* function) {
  return function->_function + " with " + std::to_string(function->_constants.size()) +
         " constants";
}

std::string path_of(NSURL* url) { return metal_double::to_string(url.path); }

}  // namespace

@implementation DoubleArchive {
  std::set<std::string> _functions;
}
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLBinaryArchiveDescriptor*)descriptor
                         error:(__autoreleasing NSError**)error {
  if ((self = [super init]) == nil) return nil;
  _device = device;
  if (descriptor.url == nil) return self;
  std::ifstream file(path_of(descriptor.url));
  std::string line;
  std::getline(file, line);
  if (line != first_line || take(Switch::fail_archive_load)) {
    report(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile,
           "Invalid or missing archive: " + path_of(descriptor.url));
    return nil;
  }
  while (std::getline(file, line)) _functions.insert(line);
  return self;
}
- (BOOL)contains:(DoubleFunction*)function {
  return _functions.contains(key_of(function));
}
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                            error:(NSError**)error {
  auto* function = static_cast<DoubleFunction*>(descriptor.computeFunction);
  if (function == nil) {
    report(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorUnexpectedElement,
           "computeFunction is nil");
    return NO;
  }
  _functions.insert(key_of(function));
  return YES;
}
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error {
  if (_functions.empty()) {
    report(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorUnexpectedElement,
           "Nothing to serialize");
    return NO;
  }
  std::ofstream file(path_of(url));
  file << first_line << '\n';
  for (const std::string& function : _functions) file << function << '\n';
  file.close();
  if (!file || take(Switch::fail_archive_write)) {
    report(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInternalError,
           "Cannot write the archive to " + path_of(url));
    return NO;
  }
  return YES;
}
@end
