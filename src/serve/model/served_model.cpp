#include "serve/model/served_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/utf8.h"

namespace mirrortrain {
namespace {

std::vector<ServedOutput> served_outputs(const std::vector<OutputMeaning>& meanings,
                                         const CheckedConfiguration& checked) {
  std::vector<std::string> inputs;
  for (const data::InputSpec& input : checked.examples.inputs) inputs.push_back(input.name);
  const std::vector<std::string> probabilities = names_of_probabilities(meanings, inputs);
  std::vector<ServedOutput> outputs;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    outputs.push_back({meanings[i].layer, i, false});
    if (!probabilities[i].empty()) outputs.push_back({probabilities[i], i, true});
  }
  return outputs;
}

std::vector<std::string> names_of(const std::vector<ServedOutput>& outputs) {
  std::vector<std::string> names;
  for (const ServedOutput& output : outputs) names.push_back(output.name);
  return names;
}

RequestReader reader_of(const TrainedRun& run, const std::vector<ServedOutput>& outputs, std::size_t most_bytes) {
  const data::Adapted* const adapted = run.adapted ? &*run.adapted : nullptr;
  return {run.checked, adapted != nullptr ? *adapted : data::Adapted{},
          served_inputs(run.checked, adapted, names_of(outputs)), most_bytes};
}

/// "0.98:3:seven" of the most probable classes.
std::vector<std::string> most_probable(const OutputMeaning& meaning, const std::vector<float>& probabilities,
                                       std::int64_t classes) {
  std::vector<std::size_t> numbers(probabilities.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  std::vector<std::string> texts;
  for (const std::size_t number : std::span(numbers).first(static_cast<std::size_t>(classes))) {
    const std::string name = meaning.name_of(static_cast<std::int64_t>(number));
    texts.push_back(fmt::format("{}:{}{}{}", probabilities[number], number, name.empty() ? "" : ":", name));
  }
  return texts;
}

}  // namespace

/// An output of an answer.
struct ServedModel::Wanted {
  const ServedOutput* output;
  WantedOutput form;
};

ServedModel::ServedModel(TrainedRun run, ServedModelOptions options)
    : run_(std::move(run)),
      options_(std::move(options)),
      name_(run_.checked.values().name.text),
      meanings_(output_meanings(run_.checked, run_.adapted ? &*run_.adapted : nullptr)),
      outputs_(served_outputs(meanings_, run_.checked)),
      reader_(reader_of(run_, outputs_, options_.most_bytes)),
      watch_(run_.named),
      forward_(run_.checked, run_.named, options_.most_rows),
      step_(forward_.step()),
      batcher_(forward_, {.most_delay = options_.most_delay,
                          .most_bytes = options_.most_bytes,
                          .arriving = [this] { return arriving_.load(); },
                          .between = options_.watches ? [this] { read_changed_weights(); } : std::function<void()>()}) {
}

void ServedModel::require_is(std::string_view name, std::string_view version) const {
  const std::string own = this->version();
  if (name == name_ && (version.empty() || version == own)) return;
  throw Refused(fmt::format("the model here is '{}', version {}", name_, own), 404);
}

std::vector<std::int64_t> ServedModel::shape(const ServedOutput& output) const {
  std::vector<std::int64_t> shape = meaning(output).shape.dims();
  shape.insert(shape.begin(), -1);
  return shape;
}

ModelMetadata ServedModel::metadata() const {
  ModelMetadata metadata{.name = name_, .version = version(), .inputs = {}, .outputs = {}};
  for (const ServedInput& input : inputs()) metadata.inputs.push_back({input.name, input.datatype(), input.shape});
  for (const ServedOutput& output : outputs_) metadata.outputs.push_back({output.name, "FP32", shape(output)});
  return metadata;
}

void ServedModel::infer(InferenceRequest request, Arriving& arriving, std::function<void(Answer)> done) {
  std::vector<Wanted> wanted = wanted_outputs(request);
  require_possible(request);
  PredictionJob job;
  job.examples = reader_.read(request.inputs);
  const std::int64_t rows = job.examples.rows;
  job.done = [this, rows, id = std::move(request.id), wanted = std::move(wanted), done = std::move(done)](
                 std::vector<std::vector<float>> outputs, std::string error) mutable {
    // The version now is that of the weights that computed them.
    done({[this, rows, id = std::move(id), wanted = std::move(wanted), computed_by = version(),
           outputs = std::move(outputs)] {
            InferenceResponse response{name_, computed_by, id, {}};
            for (const Wanted& one : wanted) {
              response.outputs.push_back(tensor_of(one, rows, outputs[one.output->output]));
            }
            return response;
          },
          rows, std::move(error)});
  };
  arriving.end();
  if (!batcher_.add(std::move(job))) {
    throw Refused("too many requests are waiting; send fewer at once, or send this one again later", 503);
  }
}

std::vector<ServedModel::Wanted> ServedModel::wanted_outputs(const InferenceRequest& request) const {
  std::vector<Wanted> wanted;
  if (request.outputs.empty()) {
    for (const ServedOutput& output : outputs_) wanted.push_back({&output, {output.name, request.is_binary}});
  }
  for (const WantedOutput& one : request.outputs) {
    const auto found = std::ranges::find(outputs_, one.name, &ServedOutput::name);
    if (found == outputs_.end()) {
      throw Refused(fmt::format("there is no output '{}'; the outputs are {}", shortened(one.name),
                                fmt::join(names_of(outputs_), ", ")));
    }
    const OutputMeaning& of = meaning(*found);
    if (one.classes > 0 && (!of.tells_classes() || of.is_by_step())) {
      throw Refused(
          fmt::format("output '{}': 'classification' is for outputs with a class for each example", one.name));
    }
    if (std::ranges::any_of(wanted, [&](const Wanted& other) { return other.output == &*found; })) {
      throw Refused(fmt::format("output '{}' is asked for twice", one.name));
    }
    wanted.push_back({&*found, one});
    wanted.back().form.classes = one.classes > 0 ? std::min(one.classes, of.number_of_classes()) : 0;
  }
  return wanted;
}

/// A few bytes of words may be many features, and an example may have a large output.
void ServedModel::require_possible(const InferenceRequest& request) const {
  std::int64_t rows = 0;
  for (const Tensor& tensor : request.inputs) rows = std::max(rows, tensor.rows());
  const auto of_one = static_cast<std::int64_t>(batcher_.bytes_of(1));
  if (rows <= static_cast<std::int64_t>(options_.most_bytes) / of_one || rows == 1) return;
  throw Refused(fmt::format("{} examples take {} MiB, of at most {}; send fewer at once", rows, rows * of_one >> 20,
                            options_.most_bytes >> 20),
                413);
}

OutputTensor ServedModel::tensor_of(const Wanted& wanted, std::int64_t rows, const std::vector<float>& numbers) const {
  const OutputMeaning& of = meaning(*wanted.output);
  OutputTensor tensor{wanted.output->name, shape(*wanted.output)};
  tensor.shape.front() = rows;
  tensor.is_binary = wanted.form.is_binary;
  const auto elements = static_cast<std::size_t>(of.elements());
  const auto for_each_row = [&](const auto& use) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      use(std::span(numbers).subspan(row * elements, elements));
    }
  };
  if (wanted.form.classes > 0) {
    tensor.shape = {rows, wanted.form.classes};
    for_each_row([&](std::span<const float> row) {
      for (std::string& text : most_probable(of, of.class_probabilities(row), wanted.form.classes)) {
        tensor.texts.push_back(std::move(text));
      }
    });
  } else if (wanted.output->are_probabilities) {
    for_each_row([&](std::span<const float> row) {
      const std::vector<float> probabilities = of.probabilities(row);
      tensor.numbers.insert(tensor.numbers.end(), probabilities.begin(), probabilities.end());
    });
  } else {
    tensor.numbers = numbers;
  }
  return tensor;
}

/// On the batcher's thread, between batches.
void ServedModel::read_changed_weights() {
  bool succeeded = false;
  try {
    if (!watch_.has_changed()) return;
    watch_.require_same_data();
    forward_.load();
    step_ = forward_.step();
    succeeded = true;
  } catch (const std::exception& error) {
    spdlog::warn("the run's weights have changed and cannot be used, so the old ones stay: {}", error.what());
  }
  if (options_.on_reload) options_.on_reload(succeeded);
}

}  // namespace mirrortrain
