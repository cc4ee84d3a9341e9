#include "metal/thread_qos.h"

#include <pthread.h>

namespace metalbench::metal {

ThreadQos::ThreadQos() {
  pthread_get_qos_class_np(pthread_self(), &before_, &priority_before_);
  // No effect on a thread with an explicit priority instead of a QoS class.
  pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
  @autoreleasepool {
    activity_ = [NSProcessInfo.processInfo
        beginActivityWithOptions:NSActivityUserInitiated | NSActivityLatencyCritical
                          reason:@"metalbench is measuring"];
  }
}

ThreadQos::~ThreadQos() {
  @autoreleasepool {
    [NSProcessInfo.processInfo endActivity:activity_];
    activity_ = nil;
  }
  // A thread cannot set its initial class if it was never set explicitly.
  const bool has_asked = before_ != QOS_CLASS_UNSPECIFIED;
  pthread_set_qos_class_self_np(has_asked ? before_ : QOS_CLASS_DEFAULT,
                                has_asked ? priority_before_ : 0);
}

}  // namespace metalbench::metal
