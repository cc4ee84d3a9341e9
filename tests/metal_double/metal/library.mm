#include "library.h"

#include <algorithm>

#include "compile_options.h"
#include "control.h"
#include "errors.h"
#include "function_constants.h"

using metal_double::report;
using metal_double::Switch;
using metal_double::to_nsstring;
using metal_double::to_string;

@interface DoubleFunction ()
- (instancetype)initWithLibrary:(DoubleLibrary*)library
                           name:(const std::string&)name
                      constants:(metalbench::FunctionConstants)constants;
@end

@implementation DoubleFunction
@synthesize label = _label;

- (instancetype)initWithLibrary:(DoubleLibrary*)library
                           name:(const std::string&)name
                      constants:(metalbench::FunctionConstants)constants {
  if ((self = [super init]) != nil) {
    _library = library;
    _function = name;
    _constants = std::move(constants);
  }
  return self;
}
- (id<MTLDevice>)device {
  return _library.device;
}
- (MTLFunctionType)functionType {
  return MTLFunctionTypeKernel;
}
- (NSString*)name {
  return to_nsstring(_function);
}
- (NSDictionary<NSString*, MTLFunctionConstant*>*)functionConstantsDictionary {
  NSMutableDictionary<NSString*, MTLFunctionConstant*>* found = [NSMutableDictionary dictionary];
  for (const metal_double::SourceConstant& constant : _library->_constants) {
    MTLFunctionConstant* one = [[MTLFunctionConstant alloc] initWithConstant:constant];
    found[one.name] = one;
  }
  return found;
}
@end

@implementation DoubleLibrary
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                        source:(NSString*)source
                       options:(MTLCompileOptions*)options
                         error:(__autoreleasing NSError**)error {
  if ((self = [super init]) == nil) return nil;
  _device = device;
  metal_double::count(metal_double::Count::compiles);
  if (metal_double::take(Switch::fail_compile)) {
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure,
           "program_source:1:1: error: the compiler failed as requested");
    return nil;
  }
  try {
    _source = to_string(source);
    const metalbench::CompileOptions given = metal_double::compile_options(options);
    _library = metal_double::engine().compile(_source, given);
    _constants = metal_double::function_constants_of(_source, given);
  } catch (...) {
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure,
           metal_double::current_exception_text());
    return nil;
  }
  return self;
}
- (NSArray<NSString*>*)functionNames {
  NSMutableArray<NSString*>* names = [NSMutableArray array];
  for (const std::string& name : _library->functions()) [names addObject:to_nsstring(name)];
  return names;
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)functionName {
  NSError* ignored = nil;
  return [self functionNamed:functionName values:nil error:&ignored];
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)constantValues
                                 error:(__autoreleasing NSError**)error {
  return [self functionNamed:name values:constantValues error:error];
}
- (DoubleFunction*)functionNamed:(NSString*)name
                          values:(MTLFunctionConstantValues*)values
                           error:(__autoreleasing NSError**)error {
  const std::string wanted = to_string(name);
  const std::vector<std::string> names = _library->functions();
  if (std::ranges::find(names, wanted) == names.end()) {
    report(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound,
           "no function is called " + wanted);
    return nil;
  }
  return [[DoubleFunction alloc] initWithLibrary:self
                                            name:wanted
                                       constants:metal_double::select(_constants, values)];
}
@end
