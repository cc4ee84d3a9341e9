#include "fence.h"

@implementation DoubleFence
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super init]) != nil) _device = device;
  return self;
}
@end
