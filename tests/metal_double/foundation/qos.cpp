#include "foundation/qos.h"

#include <pthread/qos.h>

#include <cerrno>

namespace {

// Unlike on a Mac, nothing is scheduled by it.
thread_local qos_class_t wanted = QOS_CLASS_UNSPECIFIED;
thread_local int wanted_priority = 0;
constexpr int least_priority = -15;

}  // namespace

int pthread_set_qos_class_self_np(qos_class_t qos_class, int relative_priority) {
  if (qos_class == QOS_CLASS_UNSPECIFIED || relative_priority > 0 ||
      relative_priority < least_priority) {
    return EINVAL;
  }
  wanted = qos_class;
  wanted_priority = relative_priority;
  return 0;
}

int pthread_get_qos_class_np(pthread_t thread, qos_class_t* qos_class, int* relative_priority) {
  if (pthread_equal(thread, pthread_self()) == 0) return ESRCH;
  *qos_class = wanted;
  *relative_priority = wanted_priority;
  return 0;
}

unsigned metal_double::qos_class() { return wanted; }
