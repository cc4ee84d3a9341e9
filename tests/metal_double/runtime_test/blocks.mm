#include <string>
#include <thread>

#include "check.h"
#include "shapes.h"

namespace runtime_test {

void test_blocks() {
  Square* square = [Square new];
  __block int calls = 0;
  __block Square* held = [Square new];
  std::string text = "text of a length that is on the heap";
  square.block = ^(int x) {
    ++calls;
    held = nil;
    return x + static_cast<int>(text.size());
  };
  CHECK(square.block(4) == 40 && calls == 1 && held == nil);
  NSArray* const blocks = @[
    square.block, [^{
      ++calls;
    } copy]
  ];
  void (^const second)(void) = blocks[1];
  second();
  CHECK(calls == 2);
  const auto moved = square.block;
  square = nil;
  std::thread([moved] { moved(1); }).join();
  CHECK(calls == 3);
}

}  // namespace runtime_test
