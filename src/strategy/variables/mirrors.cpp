#include "strategy/variables/mirrors.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "strategy/variables/filters.h"

namespace mirrortrain {

Mirrors::Mirrors(const Model& model, StoreOptions store, const UpdateOptions& update, const Placement& placement,
                 std::span<Device* const> devices, const Backend& backend) {
  store.replicas = store.all_replicas = placement.replicas;
  if (backend.shares_host_memory()) {
    UpdateReplicas all{std::vector<int>(static_cast<std::size_t>(placement.replicas)), placement.replicas};
    std::iota(all.numbers.begin(), all.numbers.end(), 0);
    mirrors_.push_back(std::make_unique<Mirror>(all, model, store, update, *devices[0], backend.step_kernels(),
                                                std::vector<std::size_t>()));
    return;
  }
  const std::vector<std::size_t> filters =
      backend.keeps_filters_out_first() ? find_filters(model) : std::vector<std::size_t>();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::vector<int>& numbers = placement.lanes[i].replicas;
    store.replicas = static_cast<int>(numbers.size());
    try {
      mirrors_.push_back(std::make_unique<Mirror>(UpdateReplicas{numbers, placement.replicas}, model, store, update,
                                                  *devices[i], backend.step_kernels(), filters));
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      throw Error(fmt::format("the variables with gradients and optimizer slots: {}", error.what()));
    }
  }
  store.replicas = placement.replicas;
  for (std::size_t i = 0; i < model.variables.size(); ++i) store.without_gradient.push_back(i);
  host_ = make_cpu_device(0, 1, {});
  host_variables_ = std::make_unique<VariableStore>(model, store, *host_);
}

StepParams Mirrors::begin_update(const UpdateStep& step) {
  StepParams params;
  for (const auto& mirror : mirrors_) params = mirror->update.begin(step);
  host_is_behind_ = apart();
  return params;
}

void Mirrors::bring_to_host(std::span<Stream* const> streams) {
  if (!host_is_behind_) return;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) mirrors_[i]->copy_to_host(*streams[i], *host_variables_, i == 0);
  host_is_behind_ = false;
}

void Mirrors::take_from_host(int lane, Stream& stream) const {
  if (apart()) of_lane(lane).copy_from_host(stream, *host_variables_);
}

void Mirrors::take_evaluation_copies(int lane, Stream& stream) const {
  if (apart()) of_lane(lane).copy_evaluation_from_host(stream, *host_variables_);
}

std::size_t Mirrors::bytes() const {
  std::size_t total = 0;
  for (const auto& mirror : mirrors_) total += mirror->bytes();
  return total;
}

}  // namespace mirrortrain
