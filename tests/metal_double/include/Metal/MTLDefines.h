#pragma once

#import <Foundation/Foundation.h>

#ifdef __cplusplus
#define MTL_EXTERN extern "C"
#else
#define MTL_EXTERN extern
#endif
#define MTL_INLINE static inline
