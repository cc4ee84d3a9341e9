// Methods as objects: asked for, replaced and added, as an observer of another's class does.
#import <objc/runtime.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "shapes.h"

// A class that each test may change.
@interface Door : NSObject
- (int)height;
- (int)width;
@end
@implementation Door
- (int)height {
  return 20;
}
- (int)width {
  return 8;
}
@end

@interface Gate : Door
- (int)width;
@end
@implementation Gate
- (int)width {
  return [super width] + 30;
}
@end

@interface Door (Painted)
- (int)paint;
@end

namespace runtime_test {
namespace {

using Height = int (*)(id, SEL);

Height height_before = nullptr;

int doubled(id self, SEL selector) { return 2 * height_before(self, selector); }
int seven(id, SEL) { return 7; }

IMP as_imp(Height function) { return reinterpret_cast<IMP>(function); }

}  // namespace

void test_methods_that_are_told() {
  const Method height = class_getInstanceMethod([Door class], @selector(height));
  CHECK(height != nullptr && method_getName(height) == @selector(height));
  CHECK(std::strncmp(method_getTypeEncoding(height), "i", 1) == 0);
  CHECK(class_getInstanceMethod([Gate class], @selector(height)) == height);
  CHECK(class_getInstanceMethod([Gate class], @selector(width)) !=
        class_getInstanceMethod([Door class], @selector(width)));
  CHECK(class_getInstanceMethod([Door class], @selector(area)) == nullptr);
  CHECK(class_getInstanceMethod(Nil, @selector(height)) == nullptr);
  CHECK(class_getInstanceMethod([Square class], @selector(more)) != nullptr);
  CHECK(class_getClassMethod([Door class], @selector(new)) ==
        class_getInstanceMethod(object_getClass([NSObject class]), @selector(new)));
  CHECK(class_getMethodImplementation([Gate class], @selector(height)) ==
        method_getImplementation(height));
}

void test_methods_that_are_replaced() {
  Door* const door = [Door new];
  Gate* const gate = [Gate new];
  const Method height = class_getInstanceMethod([Door class], @selector(height));
  const IMP before = method_setImplementation(height, as_imp(doubled));
  height_before = reinterpret_cast<Height>(before);
  CHECK(door.height == 40 && gate.height == 40);
  CHECK(method_getImplementation(height) == as_imp(doubled));
  CHECK(method_setImplementation(height, before) == as_imp(doubled));
  CHECK(door.height == 20 && gate.height == 20);
  // A subclass that has its own keeps it, and finds the replaced one above it.
  const Method width = class_getInstanceMethod([Door class], @selector(width));
  const IMP width_before = method_setImplementation(width, as_imp(seven));
  CHECK(door.width == 7 && gate.width == 37);
  CHECK(class_replaceMethod([Door class], @selector(width), width_before, nullptr) ==
        as_imp(seven));
  CHECK(door.width == 8 && gate.width == 38);
  method_exchangeImplementations(height, width);
  CHECK(door.width == 20 && door.height == 8 && gate.width == 50);
  method_exchangeImplementations(height, width);
}

void test_methods_that_are_added() {
  Door* const door = [Door new];
  Gate* const gate = [Gate new];
  CHECK(![door respondsToSelector:@selector(paint)]);
  CHECK(class_addMethod([Door class], @selector(paint), as_imp(seven), "i16@0:8"));
  CHECK(!class_addMethod([Door class], @selector(paint), as_imp(doubled), "i16@0:8"));
  CHECK(door.paint == 7 && gate.paint == 7 && [gate respondsToSelector:@selector(paint)]);
  const Method paint = class_getInstanceMethod([Gate class], @selector(paint));
  CHECK(std::strcmp(method_getTypeEncoding(paint), "i16@0:8") == 0);
  // In a subclass, over an inherited one.
  CHECK(class_replaceMethod([Gate class], @selector(height), as_imp(seven), "i16@0:8") == nullptr);
  CHECK(gate.height == 7 && door.height == 20);
}

void test_blocks_as_methods() {
  Door* const door = [Door new];
  const int more = 3;
  const Method height = class_getInstanceMethod([Door class], @selector(height));
  const Height before = reinterpret_cast<Height>(method_getImplementation(height));
  const IMP replaced = imp_implementationWithBlock(^(id self) {
    return before(self, @selector(height)) + more;
  });
  CHECK(imp_getBlock(replaced) != nil && imp_getBlock(as_imp(seven)) == nil);
  method_setImplementation(height, replaced);
  CHECK(door.height == 23);
  method_setImplementation(height, as_imp(before));
  CHECK(imp_removeBlock(replaced) && !imp_removeBlock(replaced) && !imp_removeBlock(as_imp(seven)));
  CHECK(door.height == 20);
}

void test_replacement_while_others_send() {
  Door* const door = [Door new];
  std::atomic<bool> ended = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&ended, &wrong, door] {
      while (!ended) {
        const int height = door.height;
        if (height != 20 && height != 7) ++wrong;
        if (door.width != 8) ++wrong;
      }
    });
  }
  const Method height = class_getInstanceMethod([Door class], @selector(height));
  const IMP before = method_getImplementation(height);
  for (int i = 0; i < 500; ++i) {
    method_setImplementation(height, as_imp(seven));
    // Each new selector gives the class another table.
    const std::string name = "unheard" + std::to_string(i);
    class_addMethod([Door class], sel_registerName(name.c_str()), as_imp(seven), "i16@0:8");
    method_setImplementation(height, before);
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0 && door.height == 20);
}

}  // namespace runtime_test
