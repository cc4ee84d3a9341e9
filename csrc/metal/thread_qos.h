// QoS class of a measuring thread.
#pragma once

#import <Foundation/Foundation.h>
#include <pthread/qos.h>

namespace metalbench::metal {

// Raises the calling thread to user-interactive, and prevents sleep and timer coalescing. The same
// thread must destroy the object.
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
