#include "kernels/cuda/cudnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "kernels/cuda/cudnn.h"

namespace mirrortrain::cuda {
namespace {

/// The number of an attribute's values, of which up to `wanted` are written to `values`.
std::int64_t get(const Descriptor& descriptor, cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                 std::int64_t wanted, void* values) {
  std::int64_t count = 0;
  check(cudnn_library().get_attribute(descriptor.get(), attribute, type, wanted, &count, values),
        "cudnnBackendGetAttribute");
  return count;
}

/// Engine configurations in the order of cuDNN's heuristics; none if it rejects the mode.
std::vector<Descriptor> configurations(const Cudnn& cudnn, const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                       std::string& refusals) {
  std::vector<Descriptor> configs;
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (cudnn.description()) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *cudnn.description());
  if (const cudnnStatus_t status = heuristic.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    refusals += fmt::format("; {}", reason_of(status));
    return configs;
  }
  constexpr auto kResults = CUDNN_ATTR_ENGINEHEUR_RESULTS;
  const std::int64_t count = get(heuristic, kResults, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    raw.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  const std::int64_t found = get(heuristic, kResults, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  while (static_cast<std::int64_t>(configs.size()) > found) configs.pop_back();
  return configs;
}

struct Engine {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool compiles_later = false;
  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};

Engine engine_of(const Descriptor& config) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  Engine found;
  get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &found.index);
  found.notes.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const std::int64_t count = get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, found.notes.data());
  found.notes.resize(static_cast<std::size_t>(count));
  std::vector<cudnnBackendBehaviorNote_t> behavior(CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  behavior.resize(static_cast<std::size_t>(get(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                               CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, behavior.data())));
  found.compiles_later =
      std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != behavior.end();
  return found;
}

/// Why an engine is excluded, or null.
const char* forbidden(const Engine& engine, const MathOptions& options, const PlanLimits& limits) {
  if (engine.compiles_later && !limits.may_compile) return "compiles its kernels late";
  // Those with sums of channels add to them atomically, in no fixed order, though their notes do not say so.
  if (engine.compiles_later && options.deterministic) return "compiles kernels that may add in no fixed order";
  if (options.deterministic && engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return "is not deterministic";
  if (engine.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return "adds up in less than float32";
  if (!limits.on_float32) return nullptr;
  if (engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return "rounds its inputs to float16";
  if (options.tf32) return nullptr;
  if (engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) return "computes in tf32";
  // Turning tf32 off asks for float32 precision, some of which these transforms lose, more with larger tiles.
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}) {
    if (engine.has(note)) return "transforms its inputs, which loses places";
  }
  return nullptr;
}

}  // namespace

CudnnPlan::CudnnPlan(Descriptor config, Descriptor plan, std::string name)
    : CudnnPlan(std::make_shared<const Compiled>(Compiled{std::move(config), std::move(plan)}), std::move(name)) {}

CudnnPlan::CudnnPlan(std::shared_ptr<const Compiled> compiled, std::string name)
    : compiled_(std::move(compiled)), name_(std::move(name)) {
  std::int64_t bytes = 0;
  get(compiled_->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  workspace_bytes_ = static_cast<std::size_t>(bytes);
}

void CudnnPlan::enqueue(const Cudnn& cudnn, cudaStream_t stream, std::span<void* const> pointers,
                        std::byte* workspace) {
  const bool is_bound = bound_.size() == pointers.size() + 1 && bound_.back() == workspace &&
                        std::equal(pointers.begin(), pointers.end(), bound_.begin());
  if (!is_bound) {
    std::vector<std::int64_t> ids;
    std::vector<void*> given;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      if (pointers[i] == nullptr) continue;
      ids.push_back(unique_id(static_cast<std::int64_t>(i)));
      given.push_back(pointers[i]);
    }
    pack_.emplace(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack_->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids));
    pack_->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(given));
    pack_->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace));
    pack_->finalize("a plan's pointers");
    bound_.assign(pointers.begin(), pointers.end());
    bound_.push_back(workspace);
  }
  check(cudnn_library().set_stream(cudnn.handle(), stream), "cudnnSetStream");
  check(cudnn_library().execute(cudnn.handle(), compiled_->plan.get(), pack_->get()), "cudnnBackendExecute");
}

std::vector<CudnnPlan> plans_for(const Cudnn& cudnn, const Descriptor& graph, const PlanLimits& limits) {
  std::vector<CudnnPlan> plans;
  std::string refusals;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : configurations(cudnn, graph, mode, refusals)) {
      const Engine engine = engine_of(config);
      if (const char* const reason = forbidden(engine, cudnn.options(), limits)) {
        refusals += fmt::format("; engine {} {}", engine.index, reason);
        continue;
      }
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (cudnn.description()) {
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *cudnn.description());
      } else {
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, cudnn.handle());
      }
      if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
        refusals += fmt::format("; engine {}: {}", engine.index, reason_of(status));
        continue;
      }
      const char* const cores = engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? " (tensor cores)" : "";
      const char* const compiled = engine.compiles_later ? ", compiled at run time" : "";
      CudnnPlan made(std::move(config), std::move(plan), fmt::format("engine {}{}{}", engine.index, cores, compiled));
      if (made.workspace_bytes() > cudnn.options().most_workspace_bytes) {
        refusals += fmt::format("; {} wants a workspace of {} bytes", made.name(), made.workspace_bytes());
        continue;
      }
      plans.push_back(std::move(made));
      if (plans.size() == limits.most) return plans;
    }
    if (!plans.empty()) return plans;
  }
  throw Error(fmt::format("cuDNN has no plan{}", refusals));
}

}  // namespace mirrortrain::cuda
