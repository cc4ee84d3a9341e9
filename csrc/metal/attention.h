// What a thread asks of macOS for as long as it measures.
#pragma once

#import <Foundation/Foundation.h>
#include <pthread/qos.h>

namespace metalbench::metal {

// The first place on fast cores, for the thread that makes it and that also ends it; and that the
// Mac neither goes to sleep nor saves energy at the expense of its timers.
class Attention {
 public:
  Attention();
  ~Attention();
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;

 private:
  qos_class_t before_ = QOS_CLASS_UNSPECIFIED;
  int priority_before_ = 0;
  id<NSObject> activity_ = nil;
};

}  // namespace metalbench::metal
