#include "compile_options.h"

#include <atomic>
#include <string>

#include "control.h"
#include "errors.h"
#include "language_version.h"

namespace {

constexpr NSInteger safe_math = 0;
constexpr NSInteger fast_math = 2;

std::atomic<NSUInteger> last_version = 0;

constexpr NSUInteger version(NSUInteger major, NSUInteger minor) { return (major << 16) + minor; }

// Of the macOS that the double stands for.
NSUInteger newest_version() {
  const double os_major = metal_double::value(metal_double::Switch::os_major);
  if (os_major >= 27) return version(4, 1);
  if (os_major >= 26) return version(4, 0);
  return os_major >= 15 ? version(3, 2) : version(3, 1);
}

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
  last_version = options.languageVersion;
  if (last_version > newest_version()) {
    violation("newLibraryWithSource: this macOS does not know the language version " +
              std::to_string(last_language_version()));
  }
  // Metal's compiler defines the macro. The engine does not know 4.1.
  if (last_version != newest_version()) {
    const NSUInteger chosen = last_version;
    found.macros["__METAL_VERSION__"] =
        std::to_string((chosen >> 16) * 100 + (chosen & 0xffff) * 10);
  }
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

double last_language_version() {
  const NSUInteger version = last_version;
  return static_cast<double>(version >> 16) + static_cast<double>(version & 0xffff) / 10;
}

}  // namespace metal_double
