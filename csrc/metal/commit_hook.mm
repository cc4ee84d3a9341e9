#include "metal/commit_hook.h"

#import <objc/runtime.h>

#include <algorithm>
#include <utility>

namespace metalbench::metal {
namespace {

using Commit = void (*)(id<MTLCommandBuffer> buffer, SEL selector);

// Whether this thread is inside of a commit: a nested call to a superclass or a wrapped object is
// not another commit.
thread_local bool is_within = false;

// Both objects are made only to query their classes; uncommitted command buffers have no effect.
std::vector<Class> classes_of(id<MTLCommandQueue> queue) {
  @autoreleasepool {
    const Class usual = object_getClass([queue commandBuffer]);
    const Class unretained = object_getClass([queue commandBufferWithUnretainedReferences]);
    if (unretained == usual) return {usual};
    return {usual, unretained};
  }
}

IMP implementation_of(Class type) {
  return class_getInstanceMethod(type, @selector(commit)) == nullptr
             ? nullptr
             : class_getMethodImplementation(type, @selector(commit));
}

// Add the method if the class inherits it, so that the superclass is not changed.
void set_implementation(Class type, IMP implementation) {
  const Method method = class_getInstanceMethod(type, @selector(commit));
  class_replaceMethod(type, @selector(commit), implementation, method_getTypeEncoding(method));
}

}  // namespace

CommitHook& CommitHook::only() {
  // Never destroyed: other threads may commit while the program ends.
  static CommitHook& hook = *new CommitHook;
  return hook;
}

bool CommitHook::add(const std::shared_ptr<CommitListener>& listener, id<MTLCommandQueue> queue) {
  const std::lock_guard lock(mutex_);
  bool can_hear = false;
  for (const Class type : classes_of(queue)) can_hear = replace(type) || can_hear;
  if (can_hear) listeners_.push_back(listener);
  return can_hear;
}

void CommitHook::remove(const std::shared_ptr<CommitListener>& listener) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, listener);
  if (listeners_.empty()) restore();
}

bool CommitHook::replace(Class type) {
  const IMP now = implementation_of(type);
  if (now == nullptr) return false;
  for (const Replaced& known : replaced_) {
    if (known.type != type) continue;
    if (known.ours == now) return true;
    if (known.original != now) continue;
    set_implementation(type, known.ours);
    return true;
  }
  // Each replacement calls the method that it replaced, which is recorded before the first call.
  replaced_.push_back({type, method_before(now), now});
  set_implementation(type, replaced_.back().ours);
  return true;
}

// If others have replaced ours, theirs stays, and ours stays as well and only forwards calls.
void CommitHook::restore() {
  for (const Replaced& each : replaced_) {
    if (implementation_of(each.type) == each.ours) set_implementation(each.type, each.original);
  }
}

IMP CommitHook::method_before(IMP original) {
  return imp_implementationWithBlock(^(id<MTLCommandBuffer> buffer) {
    const bool is_outermost = !std::exchange(is_within, true);
    if (is_outermost) {
      for (const auto& listener : this->listeners()) listener->committing(buffer);
    }
    reinterpret_cast<Commit>(original)(buffer, @selector(commit));
    if (is_outermost) is_within = false;
  });
}

std::vector<std::shared_ptr<CommitListener>> CommitHook::listeners() {
  const std::lock_guard lock(mutex_);
  return listeners_;
}

}  // namespace metalbench::metal
