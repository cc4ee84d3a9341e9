// The double's runtime and Foundation by themselves: prints "ok", or what is wrong. With the
// argument "unrecognized", ends in a message that no object implements.
#include <cstring>

#include "check.h"
#include "runtime/live_objects.h"
#include "shapes.h"

using namespace runtime_test;

namespace {

constexpr void (*tests[])() = {
    test_messages,
    test_nil,
    test_strings,
    test_collections,
    test_errors,
    test_blocks,
    test_weak,
    test_threads,
    test_methods_that_are_told,
    test_methods_that_are_replaced,
    test_methods_that_are_added,
    test_blocks_as_methods,
    test_replacement_while_others_send,
    report_cost,
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "unrecognized") == 0) {
    [static_cast<id<Shape>>([Square new]) never];
  }
  const std::int64_t before = metal_double::live_object_count();
  for (void (*const test)() : tests) {
    @autoreleasepool {
      test();
    }
  }
  CHECK(constructed == 0);
  CHECK(metal_double::live_object_count() == before);
  std::printf("%s", failures == 0 ? "ok\n" : metal_double::live_objects_text().c_str());
  return failures;
}
