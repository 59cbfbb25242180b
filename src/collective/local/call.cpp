#include "collective/local/call.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace mirrortrain::local {
namespace {

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, 4> kNames = {"all_reduce", "reduce_scatter", "all_gather", "broadcast"};
  return kNames[static_cast<std::size_t>(operation)];
}

}  // namespace

bool Call::fits(const Call& other) const {
  return operation == other.operation && elements.count == other.elements.count &&
         elements.dtype == other.elements.dtype && root == other.root;
}

std::string Call::text() const {
  return fmt::format("{} of {} {} elements{}{}{}", name_of(operation), elements.count,
                     mirrortrain::name_of(elements.dtype), elements.what.empty() ? "" : " (", elements.what,
                     elements.what.empty() ? "" : ")");
}

}  // namespace mirrortrain::local
