#import <Foundation/NSValue.h>

#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "foundation/text.h"

namespace {

using Value = std::variant<long long, unsigned long long, float, double>;

template <class Number>
Number as(const Value& value) {
  return std::visit([](auto held) { return static_cast<Number>(held); }, value);
}

struct IsEqual {
  template <class Left, class Right>
  bool operator()(Left left, Right right) const {
    if constexpr (std::is_integral_v<Left> && std::is_integral_v<Right>) {
      return std::cmp_equal(left, right);
    } else {
      return static_cast<double>(left) == static_cast<double>(right);
    }
  }
};

std::string spelled(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

struct Spell {
  std::string operator()(float value) const { return spelled(value); }
  std::string operator()(double value) const { return spelled(value); }
  template <class Integer>
  std::string operator()(Integer value) const {
    return std::to_string(value);
  }
};

}  // namespace

@implementation NSValue
- (const char*)objCType {
  return "";
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
@end

@implementation NSNumber {
  Value _value;
  const char* _type;
}

- (instancetype)initWithValue:(Value)value type:(const char*)type {
  self = [super init];
  _value = value;
  _type = type;
  return self;
}
- (const char*)objCType {
  return _type;
}
- (BOOL)isEqualToNumber:(NSNumber*)other {
  return other != nil && std::visit(IsEqual(), _value, other->_value);
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSNumber class]] && [self isEqualToNumber:other];
}
- (NSUInteger)hash {
  return static_cast<NSUInteger>(as<long long>(_value));
}
- (NSString*)stringValue {
  return metal_double::make_string(std::visit(Spell(), _value));
}
- (NSString*)description {
  return self.stringValue;
}
- (BOOL)boolValue {
  return as<double>(_value) != 0;
}
+ (NSNumber*)numberWithBool:(BOOL)value {
  return [[self alloc] initWithValue:static_cast<long long>(value ? 1 : 0) type:@encode(BOOL)];
}

#define CONVERSION(Type, Held, getter, factory)                                      \
  -(Type)getter {                                                                    \
    return as<Type>(_value);                                                         \
  }                                                                                  \
  +(NSNumber*)factory : (Type)value {                                                \
    return [[self alloc] initWithValue:static_cast<Held>(value) type:@encode(Type)]; \
  }

// clang-format off
CONVERSION(char, long long, charValue, numberWithChar)
CONVERSION(unsigned char, unsigned long long, unsignedCharValue, numberWithUnsignedChar)
CONVERSION(short, long long, shortValue, numberWithShort)
CONVERSION(unsigned short, unsigned long long, unsignedShortValue, numberWithUnsignedShort)
CONVERSION(int, long long, intValue, numberWithInt)
CONVERSION(unsigned int, unsigned long long, unsignedIntValue, numberWithUnsignedInt)
CONVERSION(long, long long, longValue, numberWithLong)
CONVERSION(unsigned long, unsigned long long, unsignedLongValue, numberWithUnsignedLong)
CONVERSION(long long, long long, longLongValue, numberWithLongLong)
CONVERSION(unsigned long long, unsigned long long, unsignedLongLongValue, numberWithUnsignedLongLong)
CONVERSION(float, float, floatValue, numberWithFloat)
CONVERSION(double, double, doubleValue, numberWithDouble)
CONVERSION(NSInteger, long long, integerValue, numberWithInteger)
CONVERSION(NSUInteger, unsigned long long, unsignedIntegerValue, numberWithUnsignedInteger)
// clang-format on

#undef CONVERSION

@end
