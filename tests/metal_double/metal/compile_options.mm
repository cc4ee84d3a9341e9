#include "compile_options.h"

#include "errors.h"

namespace {
constexpr NSInteger safe_math = 0;
constexpr NSInteger fast_math = 2;
}  // namespace

@implementation MTLCompileOptions
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _fastMathEnabled = YES;
    _languageVersion = MTLLanguageVersion3_1;
  }
  return self;
}
- (void)setMathMode:(NSInteger)mathMode {
  self.fastMathEnabled = mathMode == fast_math;
}
- (NSInteger)mathMode {
  return self.fastMathEnabled ? fast_math : safe_math;
}
@end

namespace metal_double {

metalbench::CompileOptions compile_options(MTLCompileOptions* options) {
  metalbench::CompileOptions found;
  found.filename = "program_source";
  if (options == nil) return found;
  found.fast_math = options.fastMathEnabled;
  NSDictionary<NSString*, NSObject*>* macros = options.preprocessorMacros;
  for (NSString* name in macros) {
    NSObject* value = macros[name];
    found.macros[to_string(name)] =
        [value isKindOfClass:[NSString class]]
            ? to_string(static_cast<NSString*>(value))
            : std::to_string(static_cast<NSNumber*>(value).longLongValue);
  }
  return found;
}

}  // namespace metal_double
