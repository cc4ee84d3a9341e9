// How urgent a thread's work is; Apple's pthread.h has these, too.
#pragma once

#include <pthread.h>

typedef enum : unsigned int {
  QOS_CLASS_USER_INTERACTIVE = 0x21,
  QOS_CLASS_USER_INITIATED = 0x19,
  QOS_CLASS_DEFAULT = 0x15,
  QOS_CLASS_UTILITY = 0x11,
  QOS_CLASS_BACKGROUND = 0x09,
  QOS_CLASS_UNSPECIFIED = 0x00,
} qos_class_t;

#ifdef __cplusplus
extern "C" {
#endif
int pthread_set_qos_class_self_np(qos_class_t qos_class, int relative_priority);
int pthread_get_qos_class_np(pthread_t thread, qos_class_t* qos_class, int* relative_priority);
#ifdef __cplusplus
}
#endif
