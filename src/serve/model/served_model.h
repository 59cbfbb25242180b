#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/model/batcher.h"
#include "serve/model/forward_pass.h"
#include "serve/model/request_reader.h"
#include "serve/model/weights_watch.h"
#include "serve/tensors/inference.h"
#include "train/inference/prediction.h"
#include "train/runs/run_weights.h"

namespace mirrortrain {

struct ServedModelOptions {
  std::int64_t most_rows = 32;  ///< that are computed together
  std::chrono::nanoseconds most_delay = std::chrono::milliseconds(2);
  std::size_t most_bytes = std::size_t{1} << 30;  ///< of an answer, and of all that is computed at once
  bool watches = false;                           ///< whether changed weights of the run are read
  std::function<void(bool succeeded)> on_reload{};
};

/// What answers have of a model.
struct ServedOutput {
  std::string name;
  std::size_t output = 0;  ///< of the model's
  bool are_probabilities = false;
};

/// The metadata of a model, as clients get it.
struct ModelMetadata {
  struct Tensor {
    std::string name;
    std::string_view datatype;
    std::vector<std::int64_t> shape;  ///< -1: any extent; that of the examples first
  };
  std::string name, version;
  std::string_view platform = "mirrortrain";
  std::vector<Tensor> inputs, outputs;
};

/// A trained run that answers requests for predictions, with the bits of `predict`. Thread-safe.
class ServedModel {
 public:
  /// Ready for requests from now on. Throws the exceptions of build_run, and Error for weights that cannot be read.
  ServedModel(TrainedRun run, ServedModelOptions options);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const std::string& name() const { return name_; }
  /// The step of the weights; 0 if unknown.
  std::int64_t step() const { return step_; }
  std::string version() const { return std::to_string(step_); }
  /// Throws Refused (404) if it has another name, or weights of another version. `version`: empty for any.
  void require_is(std::string_view name, std::string_view version) const;
  const std::vector<ServedInput>& inputs() const { return reader_.inputs(); }
  const std::vector<ServedOutput>& outputs() const { return outputs_; }
  const OutputMeaning& meaning(const ServedOutput& output) const { return meanings_[output.output]; }
  /// The extents of an output, -1 for the examples' first.
  std::vector<std::int64_t> shape(const ServedOutput& output) const;
  ModelMetadata metadata() const;
  /// Answers the requests that wait, with errors where nothing was computed yet, and takes no more.
  void stop() { batcher_.stop(); }
  const ForwardPass& forward() const { return forward_; }
  const BatcherCounts& counts() const { return batcher_.counts(); }

  /// The answer to a request, and the number of its examples.
  struct Answer {
    std::function<InferenceResponse()> make;  ///< called once
    std::int64_t examples = 0;
    std::string error{};  ///< not empty if there is none: the machine's fault
  };
  /// A request that is being read, for which others may wait: held from before its text is parsed.
  class Arriving {
   public:
    explicit Arriving(std::atomic<int>& count) : count_(&count) { ++count; }
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;
    ~Arriving() { end(); }
    void end() {
      if (count_ != nullptr) --*std::exchange(count_, nullptr);
    }

   private:
    std::atomic<int>* count_;
  };
  std::atomic<int>& arriving() { return arriving_; }
  /// Answers a request by calling `done`, on another thread. Throws Refused for a request that cannot be answered.
  void infer(InferenceRequest request, Arriving& arriving, std::function<void(Answer)> done);

 private:
  struct Wanted;
  std::vector<Wanted> wanted_outputs(const InferenceRequest& request) const;
  void require_possible(const InferenceRequest& request) const;
  OutputTensor tensor_of(const Wanted& wanted, std::int64_t rows, const std::vector<float>& numbers) const;
  void read_changed_weights();

  TrainedRun run_;
  ServedModelOptions options_;
  std::string name_;
  std::vector<OutputMeaning> meanings_;
  std::vector<ServedOutput> outputs_;
  RequestReader reader_;
  WeightsWatch watch_;
  ForwardPass forward_;
  std::atomic<std::int64_t> step_ = 0;  ///< of the weights that compute
  std::atomic<int> arriving_ = 0;       ///< requests that are being read
  Batcher batcher_;
};

}  // namespace mirrortrain
