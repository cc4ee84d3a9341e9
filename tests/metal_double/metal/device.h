#pragma once

#import <Metal/Metal.h>

// An Apple GPU of family 9 whose kernels the cpu engine runs.
@interface DoubleDevice : NSObject <MTLDevice>
@end
