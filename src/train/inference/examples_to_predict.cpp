#include "train/inference/examples_to_predict.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "data/key_error.h"
#include "data/loading/new_data.h"
#include "train/checkpoint/checkpoint.h"
#include "train/inference/predict.h"
#include "train/session/check_data.h"
#include "train/session/left_out.h"
#include "train/session/run_data.h"
#include "train/warnings/new_scale.h"

namespace mirrortrain {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> absolute(std::vector<std::string> files) {
  for (std::string& file : files) {
    if (file != "-") file = fs::absolute(file).string();
  }
  return files;
}

/// A value of JSON as a cell of CSV.
std::string plain_text(const std::string& json) {
  const auto value = parse_json_if_valid<nlohmann::json>(json);
  if (value.is_null() || value.is_discarded()) return "";
  return value.is_string() ? value.get<std::string>() : json;
}

/// Examples that are in memory, or read by their number: one block.
class WholeExamples : public ExampleBlocks {
 public:
  WholeExamples(data::Dataset examples, ExtraColumns extra) : examples_(std::move(examples)) {
    rows_ = examples_->rows() + left_out_within(*examples_);
    cells_ = std::move(extra.rows);
    extra_ = std::move(extra);
  }
  Progress progress() const override { return {rows_, rows_}; }

 protected:
  std::optional<data::TableBlock> read() override {
    if (!examples_) return std::nullopt;
    data::TableBlock block{std::move(examples_), 0, rows_, {}, std::move(cells_)};
    examples_.reset();
    if (left_out_within(*block.examples) > 0) block.left_out = block.examples->left_out()->rows;
    return block;
  }

 private:
  std::optional<data::Dataset> examples_;
  std::int64_t rows_ = 0;
  std::vector<std::vector<std::string>> cells_;
};

/// Tables, of which a block is in memory.
class TableBlocks : public ExampleBlocks {
 public:
  TableBlocks(const ExamplesToPredict& wanted, data::Csv table, const CheckedConfiguration& checked,
              const data::Adapted* adapted)
      : name_(wanted.files.front() == "-" ? "stdin" : wanted.files.front()),
        adapted_(adapted != nullptr ? *adapted : none_),
        spec_(data::spec_before_bins(checked.examples, checked.values().data.preprocessing)),
        wanted_(data::wanted_by(&spec_, checked.values().data.preprocessing)),
        scale_(checked, adapted, wanted.features_of_training),
        table_({absolute(wanted.files), std::move(table), checked.values().data.on_bad_example,
                feeder_options(checked.values()).ahead.threads, kRows, wanted.stops},
               adapted_, wanted_) {
    TableColumns columns = table_columns(wanted.columns, adapted, table_.names());
    extra_ = std::move(columns.extra);
    table_.want(std::move(columns.columns));
    extra_.is_kept_json = wanted.columns.as_json && table_.are_cells_json();
  }

  std::vector<std::string> take_warnings() override {
    std::vector<std::string> warnings = table_.take_remarks();
    if ((has_ended_ || scale_.has_enough()) && !std::exchange(is_scale_reported_, true)) {
      const std::string other = scale_.text();
      if (!other.empty()) warnings.push_back(fmt::format("{}: {}", name_, other));
    }
    if (has_ended_ && !std::exchange(are_left_out_reported_, true)) {
      if (const auto left = table_.left_out()) warnings.push_back(left_out_text(*left, LeftOutList::kFirst));
    }
    return warnings;
  }
  bool flows() const override { return !table_.bytes().has_value(); }
  Progress progress() const override {
    if (const auto bytes = table_.bytes()) {
      return {static_cast<std::int64_t>(table_.bytes_read()), static_cast<std::int64_t>(*bytes), true};
    }
    return {table_.rows(), 0};
  }
  void set_batch(std::int64_t rows) override { table_.set_block_rows((kRows + rows - 1) / rows * rows); }

 protected:
  std::optional<data::TableBlock> read() override {
    auto block = table_.next();
    has_ended_ = !block || !table_.has_more();
    if (!block) return block;
    if (block->examples) scale_.add(*block->examples);
    if (table_.are_cells_json()) {
      for (std::vector<std::string>& row : block->cells) {
        for (std::size_t i = extra_.is_kept_json ? extra_.kept : 0; i < row.size(); ++i) row[i] = plain_text(row[i]);
      }
    }
    const std::vector<std::string> none;
    empty_missing_labels(block->cells, extra_, adapted_.table ? adapted_.table->missing_values : none);
    return block;
  }

 private:
  static constexpr std::int64_t kRows = 1024;

  const data::Adapted none_{};
  std::string name_;
  const data::Adapted& adapted_;
  data::ExampleSpec spec_;
  data::Wanted wanted_;
  NewScale scale_;
  data::NewTable table_;
  bool has_ended_ = false, is_scale_reported_ = false, are_left_out_reported_ = false;
};

/// Reports examples that were left out, remarks on how data were read, and data that are not like those of the
/// training.
void warn_of_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                      const data::Adapted* adapted, const data::Dataset& examples, const fs::path& checkpoints) {
  const data::Dataset* const all[] = {&examples};
  report_left_out(all, LeftOutList::kFirst);
  warn_of_remarks(examples);
  if (wanted.files.empty()) {
    return warn_of_changed_data(checkpoints, wanted.split, as_kept(checked, examples, adapted),
                                data::is_drawn_from_train(checked.values().data, wanted.split));
  }
  NewScale scale(checked, adapted, wanted.features_of_training);
  scale.add(examples);
  if (const std::string other = scale.text(); !other.empty()) spdlog::warn("{}: {}", wanted.files.front(), other);
}

data::Dataset read_split(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                         const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  require_data_files(checked, {wanted.split});
  auto loaded = data::load(values.data, values.seed, checked.wanted_examples(), wanted.split, adapted);
  if (loaded) return std::move(loaded->dataset);
  throw UsageError(data::missing_text(values.data, wanted.split) + ", or a file with --data FILE");
}

}  // namespace

std::optional<data::TableBlock> ExampleBlocks::next() {
  if (begun_.empty()) return read();
  data::TableBlock block = std::move(begun_.front());
  begun_.pop_front();
  return block;
}

const data::Dataset& ExampleBlocks::first() {
  while (begun_.empty() || !begun_.back().examples) {
    auto block = read();
    if (!block) throw Error("expected at least one example, found none");  // which `read` has thrown
    begun_.push_back(*std::move(block));
  }
  return *begun_.back().examples;
}

std::unique_ptr<ExampleBlocks> open_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                                             const data::Adapted* adapted, const fs::path& checkpoints) {
  const Configuration& values = checked.values();
  if (wanted.files.empty()) {
    data::Dataset examples = read_split(wanted, checked, adapted);
    warn_of_examples(wanted, checked, adapted, examples, checkpoints);
    ExtraColumns extra = split_columns(wanted.columns, examples, adapted);
    return std::make_unique<WholeExamples>(std::move(examples), std::move(extra));
  }
  const data::Source source = data::new_source(wanted.files, values.data);
  if (const data::Csv* const table = data::table_in(source)) {
    if (wanted.files.front() == "-" && data::has_columns_of_pictures(values.data)) {
      throw UsageError(
          "--data -: the run reads pictures, whose paths are relative to the table's folder; give the table as a file");
    }
    return std::make_unique<TableBlocks>(wanted, *table, checked, adapted);
  }
  const data::ExampleSpec spec = data::spec_before_bins(checked.examples, values.data.preprocessing);
  data::Dataset examples = data::read_new(source, adapted != nullptr ? *adapted : data::Adapted{},
                                          data::wanted_by(&spec, values.data.preprocessing), values.data.on_bad_example,
                                          feeder_options(values).ahead.threads, wanted.files, values.data);
  warn_of_examples(wanted, checked, adapted, examples, checkpoints);
  ExtraColumns extra = new_columns(wanted.columns, source, examples, adapted);
  return std::make_unique<WholeExamples>(std::move(examples), std::move(extra));
}

Run run_on_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked, const data::Dataset& examples,
                    const data::Adapted& adapted) {
  const data::SplitKey key =
      !wanted.files.empty() ? data::SplitKey{} : data::key_of(checked.values().data, wanted.split);
  try {
    return run_to_predict(checked, examples, adapted, {.key = key, .cluster = wanted.cluster});
  } catch (const data::KeyError&) {
    for (std::size_t i = 0; i < examples.inputs().size(); ++i) {
      const data::Array& features = examples.features(i);
      const std::string mismatch = data::features_mismatch(features.row_shape(), checked.examples.inputs[i]);
      if (mismatch.empty()) continue;
      return data::at_its_place(key, [&]() -> Run { throw Error(fmt::format("{}: {}", features.origin, mismatch)); });
    }
    throw;
  }
}

}  // namespace mirrortrain
