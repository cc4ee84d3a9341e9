#include "shapes.h"

#include <string>

int constructed = 0;

@implementation Square {
  Counted _counted;
  std::string _text;
}
- (instancetype)init {
  self = [super init];
  _text = "a text that does not fit into the string itself";
  return self;
}
- (double)area {
  return self.side * self.side;
}
- (Large)large:(long)from {
  return {from, from + 1, from + 2, from + 3};
}
- (double)plus:(double)x times:(float)y with:(int)n and:(long)m {
  return _side + x * y + n * static_cast<double>(m);
}
- (Four)four {
  return {1, 2, 3, _text.size() > 30 ? 4.0 : 0.0};
}
- (NSString*)throwing:(int)value {
  NSString* const held = [NSString stringWithUTF8String:"held across the throw"];
  if (value != 0) throw value;
  return held;
}
- (NSError*)fail:(NSError* __autoreleasing*)error {
  *error = [NSError errorWithDomain:@"D" code:7 userInfo:@{NSLocalizedDescriptionKey : @"why"}];
  return nil;
}
@end

@implementation Cube {
  double _depth;
  Counted _more;
}
- (instancetype)init {
  self = [super init];
  _depth = 2;
  return self;
}
- (double)area {
  return [super area] * 6 + _depth;
}
- (Large)large:(long)from {
  Large large = [super large:from];
  large.d = -1;
  return large;
}
@end

@implementation Square (More)
- (int)more {
  return 5;
}
@end
