#import <Foundation/NSData.h>

#include <cstddef>
#include <vector>

@implementation NSData {
  std::vector<std::byte> _bytes;
}

- (instancetype)initWithBytes:(const void*)bytes length:(NSUInteger)length {
  self = [super init];
  const auto* const begin = static_cast<const std::byte*>(bytes);
  _bytes.assign(begin, begin + length);
  return self;
}
+ (instancetype)data {
  return [[self alloc] init];
}
+ (instancetype)dataWithBytes:(const void*)bytes length:(NSUInteger)length {
  return [[self alloc] initWithBytes:bytes length:length];
}
- (NSUInteger)length {
  return _bytes.size();
}
- (const void*)bytes {
  return _bytes.data();
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSData class]] && _bytes == static_cast<NSData*>(other)->_bytes;
}
- (NSUInteger)hash {
  return _bytes.size();
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}

@end
