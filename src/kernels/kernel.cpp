#include "kernels/kernel.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {

std::unique_ptr<Kernel> KernelRegistry::make(const Op& op, const KernelSpecs& specs) const {
  const auto found = makers_.find(std::type_index(typeid(op)));
  if (found == makers_.end()) {
    const std::string_view dtype = specs.inputs.empty() ? "no input" : name_of(specs.inputs.front().dtype);
    throw Error(fmt::format("{} has no kernel on {} ({})", op.name(), backend_, dtype));
  }
  return found->second(op, specs);
}

KernelRegistry KernelRegistry::wrapped(
    const std::function<std::unique_ptr<Kernel>(const Make&, const Op&, const KernelSpecs&)>& wrap) const {
  KernelRegistry all(backend_);
  for (const auto& [type, make] : makers_) {
    all.makers_[type] = [wrap, make](const Op& op, const KernelSpecs& specs) { return wrap(make, op, specs); };
  }
  return all;
}

}  // namespace mirrortrain
