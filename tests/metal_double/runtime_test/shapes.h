// Classes to test with: every kind of property, result and instance variable.
#pragma once

#import <Foundation/Foundation.h>

struct Large {
  long a, b, c, d;
};

struct Four {
  double a, b, c, d;
};

// How many of the C++ instance variables there are.
extern int constructed;

struct Counted {
  Counted() { ++constructed; }
  ~Counted() { --constructed; }
};

@protocol Shape <NSObject>
@property(readonly) double area;
- (Large)large:(long)from;
@optional
- (void)never;
@end

@interface Square : NSObject <Shape>
@property double side;
@property(nonatomic, strong) id other;
@property(nonatomic, weak) id parent;
@property(copy) NSString* label;
@property(copy) int (^block)(int);
@property Large atomic_large;
- (double)plus:(double)x times:(float)y with:(int)n and:(long)m;
- (Four)four;
- (NSString*)throwing:(int)value;
- (NSError*)fail:(NSError* __autoreleasing*)error;
@end

@interface Cube : Square
@end

@interface Square (More)
- (int)more;
@end
