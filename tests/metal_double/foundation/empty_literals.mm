// What the compiler takes for @[] and @{}.
#import <Foundation/NSArray.h>
#import <Foundation/NSDictionary.h>

#include "runtime/live_objects.h"

extern "C" {
NSArray* __NSArray0__;
NSDictionary* __NSDictionary0__;
}

namespace {

// After the classes are ready and before anything else.
[[gnu::constructor(102)]] void make_empty_literals() {
  __NSArray0__ = [[NSArray alloc] init];
  __NSDictionary0__ = [[NSDictionary alloc] init];
  metal_double::leave_uncounted((__bridge const void*)__NSArray0__);
  metal_double::leave_uncounted((__bridge const void*)__NSDictionary0__);
}

}  // namespace
