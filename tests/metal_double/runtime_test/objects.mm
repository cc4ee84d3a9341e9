// Messages, errors, weak references, threads.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "check.h"
#include "shapes.h"

namespace runtime_test {

void test_messages() {
  Square* const square = [Square new];
  square.side = 3;
  CHECK(square.area == 9);
  CHECK([square large:5].d == 8);
  CHECK([square four].d == 4);
  CHECK([square plus:2 times:0.5f with:3 and:4] == 16);
  CHECK([square more] == 5);
  Cube* const cube = [[Cube alloc] init];
  cube.side = 2;
  CHECK(cube.area == 26);
  CHECK([cube large:1].c == 3 && [cube large:1].d == -1);
  CHECK([cube four].a == 1);
  CHECK([cube isKindOfClass:[Square class]] && ![square isKindOfClass:[Cube class]]);
  CHECK([cube conformsToProtocol:@protocol(Shape)]);
  CHECK(![cube conformsToProtocol:@protocol(NSCopying)]);
  CHECK([cube respondsToSelector:@selector(more)] && ![cube respondsToSelector:@selector(never)]);
  CHECK(NSClassFromString(@"Cube") == [Cube class] && NSClassFromString(@"Cone") == Nil);
  CHECK([cube respondsToSelector:NSSelectorFromString(@"large:")]);
  square.atomic_large = {1, 2, 3, 4};
  CHECK(square.atomic_large.c == 3);
}

void test_nil() {
  Square* const none = nil;
  CHECK(none.area == 0 && [none more] == 0 && none.label == nil);
  CHECK([none large:3].a == 0 && [none large:3].d == 0);
  CHECK([none four].d == 0);
  none.other = @1;
  CHECK(none.label.UTF8String == nullptr);
}

void test_errors() {
  Square* const square = [Square new];
  NSError* error = nil;
  [square fail:&error];
  CHECK(error.code == 7 && [error.localizedDescription isEqual:@"why"]);
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      [square throwing:i];
    } catch (int value) {
      caught += value;
    }
  }
  CHECK(caught == 3);
  caught = 0;
  const auto block = ^{
    @autoreleasepool {
      [square throwing:1];
    }
  };
  try {
    block();
  } catch (...) {
    caught = 1;
  }
  CHECK(caught == 1);
}

void test_weak() {
  Square* parent = [Square new];
  Square* const child = [Square new];
  child.parent = parent;
  parent.other = child;
  @autoreleasepool {
    CHECK(child.parent == parent);
  }
  __weak Square* seen = parent;
  parent = nil;
  CHECK(child.parent == nil && seen == nil);
}

void test_threads() {
  Square* const shared = [Square new];
  __weak Square* weak = shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared, &weak] {
      for (int k = 0; k < 20000; ++k) {
        @autoreleasepool {
          shared.label = @"x";
          shared.other = [Cube new];
          Square* const again = weak;
          if (again.label == nil) std::abort();
        }
      }
    });
    threads.back().join();
  }
  threads.clear();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared, &weak] {
      for (int k = 0; k < 20000; ++k) {
        @autoreleasepool {
          shared.label = [NSString stringWithUTF8String:"another"];
          Square* const again = weak;
          NSArray* const list = @[ again, again.label ];
          if (list.count != 2) std::abort();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void report_cost() {
  Square* const square = [Square new];
  constexpr int repeats = 20'000'000;
  long sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) sum += [square more];
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  CHECK(sum == 5L * repeats);
  std::fprintf(stderr, "a message: %.2f ns\n", spent.count() / repeats);
}

}  // namespace runtime_test
