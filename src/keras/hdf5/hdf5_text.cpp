#include "keras/hdf5/hdf5.h"

namespace mirrortrain::keras {

std::string Hdf5Contents::text(const std::string& group, const std::string& attribute) const {
  const auto of_group = texts.find(group);
  if (of_group == texts.end()) return "";
  const auto found = of_group->second.find(attribute);
  return found == of_group->second.end() || found->second.size() != 1 ? "" : found->second.front();
}

}  // namespace mirrortrain::keras
