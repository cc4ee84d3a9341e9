#include "function_constants.h"

#include <stdexcept>

#include "control.h"
#include "data_types.h"
#include "errors.h"

@implementation MTLFunctionConstantValues
- (void)put:(const void*)value type:(MTLDataType)type for:(const metalbench::ConstantKey&)key {
  try {
    _values.insert_or_assign(key, metal_double::constant_value(value, type));
  } catch (const std::invalid_argument& problem) {
    metal_double::violation(std::string("setConstantValue: ") + problem.what());
  }
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index {
  [self put:value type:type for:static_cast<std::uint32_t>(index)];
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type withName:(NSString*)name {
  [self put:value type:type for:metal_double::to_string(name)];
}
- (void)reset {
  _values.clear();
}
@end

@implementation MTLFunctionConstant
- (instancetype)initWithConstant:(const metal_double::SourceConstant&)constant {
  if ((self = [super init]) != nil) {
    _name = metal_double::to_nsstring(constant.name);
    _type = metal_double::data_type(constant.type);
    _index = constant.index;
    _required = constant.required;
  }
  return self;
}
@end

metalbench::FunctionConstants metal_double::select(const std::vector<SourceConstant>& constants,
                                                   MTLFunctionConstantValues* values) {
  metalbench::FunctionConstants found;
  for (const SourceConstant& constant : constants) {
    if (values == nil) continue;
    auto given = values->_values.find(constant.name);
    if (given == values->_values.end()) given = values->_values.find(constant.index);
    if (given != values->_values.end()) found.emplace(constant.name, given->second);
  }
  return found;
}
