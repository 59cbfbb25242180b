#include "strategy/gradients/packs.h"

namespace mirrortrain {

std::vector<Pack> make_packs(const VariableStore& variables, std::uint64_t bytes_per_pack) {
  std::vector<Pack> full;
  std::vector<Pack> open(variables.groups().size());  // by group
  for (std::size_t i = variables.variables().size(); i-- > 0;) {
    const auto [group, first, stores_gradient] = variables.place(i);
    if (group < 0 || !stores_gradient || !variables.groups()[static_cast<std::size_t>(group)].shared()) continue;
    Pack& pack = open[static_cast<std::size_t>(group)];
    if (pack.variables.empty()) {
      pack.group = group;
      pack.end = first + with_padding(variables.variables()[i].shape().elements());
    }
    pack.begin = first;
    pack.variables.push_back(i);
    const auto bytes = static_cast<std::uint64_t>(pack.elements()) * sizeof(float);
    if (bytes_per_pack > 0 && bytes >= bytes_per_pack) {
      full.push_back(std::move(pack));
      pack = {};
    }
  }
  for (Pack& pack : open) {
    if (!pack.variables.empty()) full.push_back(std::move(pack));
  }
  return full;
}

}  // namespace mirrortrain
