#pragma once

#include "config/schema.h"
#include "config/value.h"

namespace mirrortrain::config {

/// A resolved value without what holds where it is not given: sections keep the keys that differ from their defaults,
/// and a choice its name. `schema` is the value's.
Value without_defaults(const Value& value, const Schema& schema);

/// Whether two values say the same, wherever they were written.
bool same(const Value& a, const Value& b);

}  // namespace mirrortrain::config
