// In the order of insertion; the few entries that the dictionaries here have are looked at in turn.
#import <Foundation/NSDictionary.h>

#include <algorithm>
#include <vector>

namespace {

struct Entry {
  id key;
  id value;
};

}  // namespace

@implementation NSDictionary {
 @package
  std::vector<Entry> _entries;
  unsigned long _changes;
}

- (instancetype)init {
  return [super init];
}
- (instancetype)initWithObjects:(const id[])objects
                        forKeys:(const id<NSCopying>[])keys
                          count:(NSUInteger)count {
  self = [super init];
  for (NSUInteger i = 0; i < count; ++i) [self put:objects[i] forKey:keys[i]];
  return self;
}
+ (instancetype)dictionary {
  return [[self alloc] init];
}
+ (instancetype)dictionaryWithObjects:(const id[])objects
                              forKeys:(const id<NSCopying>[])keys
                                count:(NSUInteger)count {
  return [[self alloc] initWithObjects:objects forKeys:keys count:count];
}
+ (instancetype)dictionaryWithDictionary:(NSDictionary*)dictionary {
  NSDictionary* const copy = [[self alloc] init];
  copy->_entries = dictionary->_entries;
  return copy;
}

- (Entry*)find:(id)key {
  const auto found = std::find_if(_entries.begin(), _entries.end(),
                                  [key](const Entry& entry) { return [entry.key isEqual:key]; });
  return found == _entries.end() ? nullptr : &*found;
}
- (void)put:(id)object forKey:(id<NSCopying>)key {
  Entry* const found = [self find:key];
  if (found != nullptr) {
    found->value = object;
  } else {
    ++_changes;
    _entries.push_back({[key copyWithZone:nullptr], object});
  }
}

- (NSUInteger)count {
  return _entries.size();
}
- (id)objectForKey:(id)key {
  const Entry* const found = [self find:key];
  return found == nullptr ? nil : found->value;
}
- (id)objectForKeyedSubscript:(id)key {
  return [self objectForKey:key];
}
- (NSArray*)allKeys {
  NSMutableArray* const keys = [NSMutableArray array];
  for (const Entry& entry : _entries) [keys addObject:entry.key];
  return [keys copy];
}
- (NSArray*)allValues {
  NSMutableArray* const values = [NSMutableArray array];
  for (const Entry& entry : _entries) [values addObject:entry.value];
  return [values copy];
}
- (BOOL)isEqual:(id)other {
  if (![other isKindOfClass:[NSDictionary class]]) return NO;
  NSDictionary* const dictionary = other;
  if (dictionary.count != _entries.size()) return NO;
  for (const Entry& entry : _entries) {
    if (![entry.value isEqual:dictionary[entry.key]]) return NO;
  }
  return YES;
}
- (NSUInteger)hash {
  return _entries.size();
}
- (id)copyWithZone:(NSZone*)zone {
  if ([self class] == [NSDictionary class]) return self;
  return [NSDictionary dictionaryWithDictionary:self];
}

- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)length {
  NSUInteger given = 0;
  while (given < length && state->state < _entries.size()) {
    buffer[given++] = _entries[state->state++].key;
  }
  state->itemsPtr = buffer;
  state->mutationsPtr = &_changes;
  return given;
}

@end

@implementation NSMutableDictionary

+ (instancetype)dictionaryWithCapacity:(NSUInteger)capacity {
  return [[self alloc] init];
}
- (void)setObject:(id)object forKey:(id<NSCopying>)key {
  [self put:object forKey:key];
}
- (void)setObject:(id)object forKeyedSubscript:(id<NSCopying>)key {
  if (object == nil) {
    [self removeObjectForKey:key];
  } else {
    [self put:object forKey:key];
  }
}
- (void)removeObjectForKey:(id)key {
  ++_changes;
  std::erase_if(_entries, [key](const Entry& entry) { return [entry.key isEqual:key]; });
}

@end
