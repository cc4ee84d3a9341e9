// The QoS class of a thread that measures.
#pragma once

#import <Foundation/Foundation.h>
#include <pthread/qos.h>

namespace metalbench::metal {

// Raises the calling thread to user-interactive, and keeps the Mac from sleep and from coalescing
// timers. The same thread must destroy it.
class ThreadQos {
 public:
  ThreadQos();
  ~ThreadQos();
  ThreadQos(const ThreadQos&) = delete;
  ThreadQos& operator=(const ThreadQos&) = delete;

 private:
  qos_class_t before_ = QOS_CLASS_UNSPECIFIED;
  int priority_before_ = 0;
  id<NSObject> activity_ = nil;
};

}  // namespace metalbench::metal
