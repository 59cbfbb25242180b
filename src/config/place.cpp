#include "config/place.h"

#include <fmt/format.h>

namespace mirrortrain::config {

std::string Place::text() const {
  if (!given()) return "";
  return from_set() ? *source : fmt::format("{}:{}:{}", *source, line, column);
}

}  // namespace mirrortrain::config
