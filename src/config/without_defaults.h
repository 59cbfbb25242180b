#pragma once

#include "config/schema.h"
#include "config/value.h"

namespace mirrortrain::config {

/// A resolved value without its defaults: sections keep the keys that differ from their defaults, and a choice keeps
/// its name. `schema` is the value's.
Value without_defaults(const Value& value, const Schema& schema);

/// Whether two values are equal, regardless of where they were written.
bool same(const Value& a, const Value& b);

}  // namespace mirrortrain::config
