#include <cstring>
#include <string>

#include "check.h"
#include "shapes.h"

namespace runtime_test {

void test_strings() {
  CHECK([@"literal" isEqualToString:[NSString stringWithUTF8String:"literal"]]);
  CHECK(@"literal".length == 7);
  NSString* const umlaut = [NSString stringWithUTF8String:"\xc3\xbc\xf0\x9f\x98\x80"];
  CHECK(umlaut.length == 3);
  CHECK([[NSString alloc] initWithBytes:"\xff" length:1 encoding:NSUTF8StringEncoding] == nil);
  NSString* const latin = [[NSString alloc] initWithBytes:"\xfc"
                                                   length:1
                                                 encoding:NSISOLatin1StringEncoding];
  CHECK(std::strcmp(latin.UTF8String, "\xc3\xbc") == 0);
  Square* const square = [Square new];
  square.label = [NSString stringWithUTF8String:"label"];
  CHECK([square.label isEqual:@"label"]);
}

void test_collections() {
  NSMutableArray<NSNumber*>* const numbers = [NSMutableArray array];
  for (int i = 0; i < 100; ++i) [numbers addObject:@(i)];
  int sum = 0;
  for (NSNumber* number in numbers) sum += number.intValue;
  CHECK(sum == 4950 && numbers.count == 100 && numbers[42].intValue == 42);
  NSMutableDictionary<NSString*, NSNumber*>* const sizes = [NSMutableDictionary dictionary];
  for (int i = 0; i < 40; ++i) {
    sizes[[NSString stringWithUTF8String:std::to_string(i).c_str()]] = @(i * 0.5);
  }
  double total = 0;
  for (NSString* key in sizes) total += sizes[key].doubleValue;
  CHECK(total == 390 && sizes.count == 40 && sizes[@"40"] == nil);
  NSDictionary* const literal = @{@"a" : @1, @"b" : @[ @YES, @2.5 ]};
  CHECK([literal[@"b"][1] doubleValue] == 2.5 && [literal[@"a"] isEqual:@1U]);
  CHECK([@(1ULL << 63).stringValue isEqual:@"9223372036854775808"]);
  NSData* const data = [NSData dataWithBytes:"xyz" length:3];
  CHECK(data.length == 3 && std::memcmp(data.bytes, "xyz", 3) == 0);
  CHECK([[NSURL fileURLWithPath:@"/a/b"].path isEqual:@"/a/b"]);
}

}  // namespace runtime_test
