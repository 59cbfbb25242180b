#include "train/runs/logged_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/feeding/example_picture.h"
#include "train/checkpoint/weights.h"
#include "train/inference/predict.h"
#include "train/inference/worst_mistakes.h"

namespace mirrortrain {
namespace {

/// Host memory for some rows of everything that a model is fed.
class HostBatch {
 public:
  HostBatch(const data::ExampleSpec& spec, std::int64_t rows) {
    for (const data::InputSpec& input : spec.inputs) {
      buffers_.inputs.push_back(view(DType::kFloat32, input.shape.with_rows(rows)));
    }
    for (const data::LabelSpec& output : spec.labels) {
      const auto numbers = [&](bool is_read) {
        return is_read ? reinterpret_cast<float*>(view(DType::kFloat32, Shape{rows}).data) : nullptr;
      };
      buffers_.outputs.push_back(
          {view(output.dtype, output.shape.with_rows(rows)), numbers(output.weighted), numbers(output.may_be_missing)});
    }
  }

  const data::BatchBuffers& buffers() const { return buffers_; }
  /// An input of a row.
  std::span<const float> input(std::size_t number, std::int64_t row) const {
    const std::span<const float> all = buffers_.inputs[number].span<float>();
    const std::size_t size = all.size() / static_cast<std::size_t>(buffers_.inputs[number].shape[0]);
    return all.subspan(static_cast<std::size_t>(row) * size, size);
  }

 private:
  TensorView view(DType dtype, const Shape& shape) {
    std::vector<std::byte>& memory = memory_.emplace_back(static_cast<std::size_t>(shape.elements()) * size_of(dtype));
    return {dtype, shape, memory.data()};
  }

  std::vector<std::vector<std::byte>> memory_;
  data::BatchBuffers buffers_;
};

/// Adds a PNG file; all of a strip have one size.
void add_file(std::span<const std::byte> png, report::PictureStrip& strip) {
  const data::PictureSize size = data::picture_size(png, "a picture");
  strip.width = size.width;
  strip.height = size.height;
  strip.files.emplace_back(reinterpret_cast<const char*>(png.data()), png.size());
}

/// A class's name as a cell of a Markdown table.
std::string in_table(std::string name) {
  for (std::size_t at = 0; (at = name.find('|', at)) != std::string::npos; at += 2) name.insert(at, 1, '\\');
  return name;
}

constexpr std::int64_t kMostInputPixels = 512;  // of a side

}  // namespace

report::PicturesEvent input_pictures(const CheckedConfiguration& checked, const Run& run, std::int64_t most) {
  report::PicturesEvent event{.split = "train"};
  data::Order order = *run.order;
  order.seek({1, 0});
  const std::span<const std::int64_t> rows = order.next().rows;
  const std::int64_t count = std::min(most, std::ssize(rows));
  const data::BatchPart part{rows, 0, static_cast<std::size_t>(count)};
  const HostBatch batch(checked.examples, count);
  constexpr std::int64_t kFirstEpoch = 1;
  std::vector<std::int64_t> read;
  run.train->append_rows(part, kFirstEpoch, read);
  run.train->expect(read, kFirstEpoch);
  run.train->fill(part, batch.buffers(), kFirstEpoch);
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    const Shape& shape = checked.examples.inputs[i].shape;
    if (!data::holds_pictures(run.train->dataset(), i, shape)) continue;
    report::PictureStrip strip;
    for (std::int64_t row = 0; row < count; ++row) {
      add_file(data::encode_png(data::picture_of(batch.input(i, row), shape, false, kMostInputPixels)), strip);
    }
    event.pictures.emplace_back("inputs" + (checked.examples.inputs.size() > 1 ? "/" + checked.model->inputs[i] : ""),
                                std::move(strip));
  }
  return event;
}

report::PicturesEvent mistaken_pictures(const CheckedConfiguration& checked, const Run& run,
                                        const StoredTensors& weights, std::int64_t most) {
  report::PicturesEvent event;
  const data::Feeder* const examples = run.test ? run.test.get() : run.validation.get();
  if (examples == nullptr) return event;
  event.split = run.test ? "test" : "validation";
  const data::Dataset& dataset = examples->dataset();
  std::optional<std::size_t> input;
  for (std::size_t i = checked.examples.inputs.size(); i-- > 0;) {
    if (data::holds_pictures(dataset, i, checked.examples.inputs[i].shape)) input = i;
  }
  const std::vector<OutputMeaning> meanings = output_meanings(checked, &run.adapted);
  std::map<std::size_t, WorstMistakes> outputs;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (meanings[i].tells_classes() && !meanings[i].is_by_step()) outputs.emplace(i, WorstMistakes(meanings[i]));
  }
  if (!input || outputs.empty()) return event;
  predict_labelled(
      checked, meanings, dataset, run.adapted,
      [&](Strategy& strategy) { load_weights(weights, "the weights", strategy); },
      [&](std::size_t output, std::int64_t row, std::int64_t label, std::span<const float> prediction) {
        if (const auto found = outputs.find(output); found != outputs.end()) found->second.add(row, label, prediction);
      });
  for (const auto& [number, worst] : outputs) {
    const std::string group = "mistakes" + (meanings[number].name.empty() ? "" : "/" + meanings[number].name);
    report::PictureStrip strip;
    std::string table = "| picture | class | taken for | probability | example |\n|---|---|---|---|---|\n";
    for (const report::Mistake& mistake : worst.pictures(dataset, *input)) {
      if (std::ssize(strip.files) == most) break;
      add_file(mistake.png, strip);
      table += fmt::format("| {} | {} | {} | {:.3f} | {} |\n", strip.files.size(), in_table(mistake.truth),
                           in_table(mistake.predicted), mistake.probability, mistake.row);
    }
    if (strip.files.empty()) continue;
    event.pictures.emplace_back(group + "/pictures", std::move(strip));
    event.texts.emplace_back(group + "/list", std::move(table));
  }
  return event;
}

}  // namespace mirrortrain
