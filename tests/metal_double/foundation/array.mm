#import <Foundation/NSArray.h>

#include <vector>

@implementation NSArray {
 @package
  std::vector<id> _items;
  unsigned long _changes;
}

- (instancetype)init {
  return [super init];
}
- (instancetype)initWithObjects:(const id[])objects count:(NSUInteger)count {
  self = [super init];
  _items.assign(objects, objects + count);
  return self;
}
+ (instancetype)array {
  return [[self alloc] init];
}
+ (instancetype)arrayWithObject:(id)object {
  return [self arrayWithObjects:&object count:1];
}
+ (instancetype)arrayWithObjects:(const id[])objects count:(NSUInteger)count {
  return [[self alloc] initWithObjects:objects count:count];
}
+ (instancetype)arrayWithArray:(NSArray*)array {
  return [self arrayWithObjects:array->_items.data() count:array.count];
}

- (NSUInteger)count {
  return _items.size();
}
- (id)objectAtIndex:(NSUInteger)index {
  return _items.at(index);
}
- (id)objectAtIndexedSubscript:(NSUInteger)index {
  return _items.at(index);
}
- (id)firstObject {
  return _items.empty() ? nil : _items.front();
}
- (id)lastObject {
  return _items.empty() ? nil : _items.back();
}
- (BOOL)containsObject:(id)object {
  for (const id& item : _items) {
    if ([item isEqual:object]) return YES;
  }
  return NO;
}
- (BOOL)isEqual:(id)other {
  if (![other isKindOfClass:[NSArray class]]) return NO;
  NSArray* const array = other;
  if (array.count != _items.size()) return NO;
  for (NSUInteger i = 0; i < _items.size(); ++i) {
    if (![_items[i] isEqual:array->_items[i]]) return NO;
  }
  return YES;
}
- (NSUInteger)hash {
  return _items.size();
}
- (id)copyWithZone:(NSZone*)zone {
  if ([self class] == [NSArray class]) return self;
  return [[NSArray alloc] initWithObjects:_items.data() count:_items.size()];
}

- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)length {
  if (state->state != 0) return 0;
  state->state = 1;
  state->itemsPtr = reinterpret_cast<id __unsafe_unretained*>(_items.data());
  state->mutationsPtr = &_changes;
  return _items.size();
}

@end

@implementation NSMutableArray

+ (instancetype)arrayWithCapacity:(NSUInteger)capacity {
  NSMutableArray* const array = [[self alloc] init];
  array->_items.reserve(capacity);
  return array;
}
- (void)addObject:(id)object {
  ++_changes;
  _items.push_back(object);
}
- (void)insertObject:(id)object atIndex:(NSUInteger)index {
  ++_changes;
  _items.insert(_items.begin() + static_cast<std::ptrdiff_t>(index), object);
}
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(id)object {
  _items.at(index) = object;
}
- (void)setObject:(id)object atIndexedSubscript:(NSUInteger)index {
  if (index == _items.size()) {
    [self addObject:object];
  } else {
    _items.at(index) = object;
  }
}
- (void)removeObjectAtIndex:(NSUInteger)index {
  ++_changes;
  _items.erase(_items.begin() + static_cast<std::ptrdiff_t>(index));
}
- (void)removeLastObject {
  ++_changes;
  _items.pop_back();
}
- (void)removeAllObjects {
  ++_changes;
  _items.clear();
}

@end
