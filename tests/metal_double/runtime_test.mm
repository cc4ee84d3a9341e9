// The double's runtime and Foundation by themselves: prints "ok", or what is wrong. With the
// argument "unrecognized", ends in a message that nobody understands.
#import <Foundation/Foundation.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/live_objects.h"

namespace {

int failures = 0;

void check(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, what);
  ++failures;
}

#define CHECK(what) check((what), #what, __LINE__)

struct Large {
  long a, b, c, d;
};

struct Four {
  double a, b, c, d;
};

int constructed = 0;

struct Counted {
  Counted() { ++constructed; }
  ~Counted() { --constructed; }
};

}  // namespace

@protocol Shape <NSObject>
@property(readonly) double area;
- (Large)large:(long)from;
@optional
- (void)never;
@end

@interface Square : NSObject <Shape>
@property double side;
@property(nonatomic, strong) id other;
@property(nonatomic, weak) id parent;
@property(copy) NSString* label;
@property(copy) int (^block)(int);
@property Large atomic_large;
- (double)plus:(double)x times:(float)y with:(int)n and:(long)m;
- (Four)four;
- (NSString*)throwing:(int)value;
- (NSError*)fail:(NSError* __autoreleasing*)error;
@end

@implementation Square {
  Counted _counted;
  std::string _text;
}
- (instancetype)init {
  self = [super init];
  _text = "a text that does not fit into the string itself";
  return self;
}
- (double)area {
  return self.side * self.side;
}
- (Large)large:(long)from {
  return {from, from + 1, from + 2, from + 3};
}
- (double)plus:(double)x times:(float)y with:(int)n and:(long)m {
  return _side + x * y + n * static_cast<double>(m);
}
- (Four)four {
  return {1, 2, 3, _text.size() > 30 ? 4.0 : 0.0};
}
- (NSString*)throwing:(int)value {
  NSString* const held = [NSString stringWithUTF8String:"held across the throw"];
  if (value != 0) throw value;
  return held;
}
- (NSError*)fail:(NSError* __autoreleasing*)error {
  *error = [NSError errorWithDomain:@"D" code:7 userInfo:@{NSLocalizedDescriptionKey : @"why"}];
  return nil;
}
@end

@interface Cube : Square
@end

@implementation Cube {
  double _depth;
  Counted _more;
}
- (instancetype)init {
  self = [super init];
  _depth = 2;
  return self;
}
- (double)area {
  return [super area] * 6 + _depth;
}
- (Large)large:(long)from {
  Large large = [super large:from];
  large.d = -1;
  return large;
}
@end

@interface Square (More)
- (int)more;
@end
@implementation Square (More)
- (int)more {
  return 5;
}
@end

namespace {

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

void test_strings() {
  CHECK([@"literal" isEqualToString:[NSString stringWithUTF8String:"literal"]]);
  CHECK(@"literal".length == 7);
  NSString* const umlaut = [NSString stringWithUTF8String:"\xc3\xbc\xf0\x9f\x98\x80"];
  CHECK(umlaut.length == 3);
  CHECK([[NSString alloc] initWithBytes:"\xff" length:1 encoding:NSUTF8StringEncoding] == nil);
  NSString* const latin = [[NSString alloc] initWithBytes:"\xfc"
                                                   length:1
                                                 encoding:NSISOLatin1StringEncoding];
  CHECK(std::strcmp(latin.UTF8String, "\xc3\xbc") == 0);
  Square* const square = [Square new];
  square.label = [NSString stringWithUTF8String:"label"];
  CHECK([square.label isEqual:@"label"]);
}

void test_collections() {
  NSMutableArray<NSNumber*>* const numbers = [NSMutableArray array];
  for (int i = 0; i < 100; ++i) [numbers addObject:@(i)];
  int sum = 0;
  for (NSNumber* number in numbers) sum += number.intValue;
  CHECK(sum == 4950 && numbers.count == 100 && numbers[42].intValue == 42);
  NSMutableDictionary<NSString*, NSNumber*>* const sizes = [NSMutableDictionary dictionary];
  for (int i = 0; i < 40; ++i) {
    sizes[[NSString stringWithUTF8String:std::to_string(i).c_str()]] = @(i * 0.5);
  }
  double total = 0;
  for (NSString* key in sizes) total += sizes[key].doubleValue;
  CHECK(total == 390 && sizes.count == 40 && sizes[@"40"] == nil);
  NSDictionary* const literal = @{@"a" : @1, @"b" : @[ @YES, @2.5 ]};
  CHECK([literal[@"b"][1] doubleValue] == 2.5 && [literal[@"a"] isEqual:@1U]);
  CHECK([@(1ULL << 63).stringValue isEqual:@"9223372036854775808"]);
  NSData* const data = [NSData dataWithBytes:"xyz" length:3];
  CHECK(data.length == 3 && std::memcmp(data.bytes, "xyz", 3) == 0);
  CHECK([[NSURL fileURLWithPath:@"/a/b"].path isEqual:@"/a/b"]);
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

}  // namespace

extern "C" [[gnu::visibility("default")]] int metal_double_runtime_test() {
  const std::int64_t before = metal_double::live_object_count();
  for (void (*const test)() : {test_messages, test_nil, test_strings, test_collections, test_errors,
                               test_blocks, test_weak, test_threads, report_cost}) {
    @autoreleasepool {
      test();
    }
  }
  CHECK(constructed == 0);
  CHECK(metal_double::live_object_count() == before);
  std::printf("%s", failures == 0 ? "ok\n" : metal_double::live_objects_text().c_str());
  return failures;
}

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "unrecognized") == 0) {
    [static_cast<id<Shape>>([Square new]) never];
  }
  return metal_double_runtime_test();
}
