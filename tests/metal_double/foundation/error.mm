#import <Foundation/NSError.h>

#include <string>

#include "foundation/text.h"

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";

@implementation NSError

- (instancetype)initWithDomain:(NSErrorDomain)domain
                          code:(NSInteger)code
                      userInfo:(NSDictionary*)userInfo {
  self = [super init];
  _domain = [domain copy];
  _code = code;
  _userInfo = userInfo == nil ? @{} : [userInfo copy];
  return self;
}
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(NSDictionary*)userInfo {
  return [[self alloc] initWithDomain:domain code:code userInfo:userInfo];
}
- (NSString*)localizedDescription {
  NSString* const given = self.userInfo[NSLocalizedDescriptionKey];
  if (given != nil) return given;
  return metal_double::make_string("The operation could not be completed. (" +
                                   std::string(metal_double::view(self.domain)) + " error " +
                                   std::to_string(self.code) + ".)");
}
- (NSString*)description {
  return self.localizedDescription;
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}

@end
