#import <Foundation/NSURL.h>

@implementation NSURL

- (instancetype)initFileURLWithPath:(NSString*)path {
  self = [super init];
  _path = [path copy];
  return self;
}
+ (NSURL*)fileURLWithPath:(NSString*)path {
  return [[self alloc] initFileURLWithPath:path];
}
- (BOOL)isFileURL {
  return YES;
}
- (const char*)fileSystemRepresentation {
  return _path.UTF8String;
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSURL class]] &&
         [_path isEqualToString:static_cast<NSURL*>(other).path];
}
- (NSUInteger)hash {
  return _path.hash;
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}

@end
