// NSString is abstract: of its two kinds, one holds its bytes and one is what the compiler writes
// for a literal.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "foundation/text.h"

using metal_double::make_string;
using metal_double::view;

@interface HeapString : NSString
- (instancetype)initWithText:(std::string)text;
@end

@implementation NSString

+ (instancetype)alloc {
  return self == [NSString class] ? [HeapString alloc] : [super alloc];
}
+ (instancetype)string {
  return [[self alloc] init];
}
+ (instancetype)stringWithUTF8String:(const char*)text {
  return [[self alloc] initWithUTF8String:text];
}
- (instancetype)init {
  return [super init];
}
- (instancetype)initWithUTF8String:(const char*)text {
  return [self initWithBytes:text length:std::strlen(text) encoding:NSUTF8StringEncoding];
}
- (instancetype)initWithBytes:(const void*)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding {
  return nil;
}

- (const char*)UTF8String {
  return nullptr;
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
  return 0;
}
- (NSUInteger)length {
  return metal_double::utf16_units(view(self));
}
- (BOOL)isEqualToString:(NSString*)other {
  return other != nil && view(self) == view(other);
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSString class]] && [self isEqualToString:other];
}
- (NSUInteger)hash {
  return std::hash<std::string_view>()(view(self));
}
- (NSComparisonResult)compare:(NSString*)other {
  const int order = view(self).compare(view(other));
  return order < 0 ? NSOrderedAscending : order > 0 ? NSOrderedDescending : NSOrderedSame;
}
- (BOOL)hasPrefix:(NSString*)prefix {
  return view(self).starts_with(view(prefix));
}
- (BOOL)hasSuffix:(NSString*)suffix {
  return view(self).ends_with(view(suffix));
}
- (NSString*)stringByAppendingString:(NSString*)other {
  return make_string(std::string(view(self)).append(view(other)));
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
- (NSString*)description {
  return self;
}

@end

@implementation HeapString {
  std::string _text;
}

- (instancetype)initWithText:(std::string)text {
  self = [super init];
  _text = std::move(text);
  return self;
}
- (instancetype)initWithBytes:(const void*)bytes
                       length:(NSUInteger)length
                     encoding:(NSStringEncoding)encoding {
  auto text = metal_double::decode({static_cast<const char*>(bytes), length}, encoding);
  return text ? [self initWithText:std::move(*text)] : nil;
}
- (const char*)UTF8String {
  return _text.c_str();
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
  return _text.size();
}

@end

NSString* metal_double::make_string(std::string text) {
  return [[HeapString alloc] initWithText:std::move(text)];
}

namespace {

// As the compiler lays a literal out.
struct Literal {
  void* isa;
  int flags;
  const char* bytes;
  long length;
};

constexpr int literal_in_utf16 = 0x10;

const Literal& literal_of(NSString* text) {
  const auto& literal = *(__bridge const Literal*)text;
  if ((literal.flags & literal_in_utf16) == 0) return literal;
  std::fprintf(stderr, "NSString literals that are not ASCII are not known here\n");
  std::abort();
}

}  // namespace

@interface NSConstantString : NSString
@end

@implementation NSConstantString

- (const char*)UTF8String {
  return literal_of(self).bytes;
}
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding {
  return static_cast<NSUInteger>(literal_of(self).length);
}

@end

// The compiler knows the class of literals by this name.
__asm__(R"(
.globl __CFConstantStringClassReference
.hidden __CFConstantStringClassReference
.set __CFConstantStringClassReference, OBJC_CLASS_$_NSConstantString
)");
