#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "data/files/zip_writer.h"
#include "train/inference/prediction_writers.h"

namespace mirrortrain {
namespace {

std::string npy_dictionary(std::int64_t rows, const Shape& row_shape) {
  std::string shape = std::to_string(rows) + ",";
  for (const std::int64_t dim : row_shape) shape += fmt::format(" {},", dim);
  return fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
}

/// What an .npy file of float32 begins with: as many bytes for any number of rows, which is known at the end.
std::string npy_header(std::int64_t rows, const Shape& row_shape) {
  const std::size_t longest = npy_dictionary(std::numeric_limits<std::int64_t>::max(), row_shape).size();
  std::string header = npy_dictionary(rows, row_shape);
  header.append(longest - header.size() + 64 - (10 + longest + 1) % 64, ' ');
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) + header;
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Passes an array's row to `write`: the raw output, float32 [rows, ...]; with `probabilities`, these instead.
template <class Write>
void write_row(const OutputMeaning& meaning, const ExampleOutput& output, bool probabilities, const Write& write) {
  if (!probabilities) return write(bytes_of(output.values));
  write(bytes_of(meaning.probabilities(output.values)));
}

class NpyPredictions : public PredictionWriter {
 public:
  NpyPredictions(const PredictionOutput& output, const OutputMeaning& meaning)
      : sink_(output.file), meaning_(meaning), probabilities_(output.probabilities) {
    if (sink_.can_overwrite()) {
      sink_.write(npy_header(0, meaning.shape));
    } else {
      waiting_.reset(unnamed_file(std::filesystem::temp_directory_path()));
      if (waiting_ == nullptr) fail();
    }
  }

  void write(std::int64_t, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string>) override {
    ++rows_;
    write_row(meaning_, outputs.front(), probabilities_, [&](std::string_view bytes) {
      if (waiting_ == nullptr) return sink_.write(bytes);
      if (std::fwrite(bytes.data(), 1, bytes.size(), waiting_.get()) != bytes.size()) fail();
    });
  }
  void finish() override {
    const std::string header = npy_header(rows_, meaning_.shape);
    if (waiting_ == nullptr) {
      sink_.overwrite_beginning(header);
    } else {
      sink_.write(header);
      if (std::fseek(waiting_.get(), 0, SEEK_SET) != 0) fail();
      std::array<char, 1 << 16> block;
      while (const std::size_t count = std::fread(block.data(), 1, block.size(), waiting_.get())) {
        sink_.write({block.data(), count});
      }
      if (std::ferror(waiting_.get()) != 0) fail();
    }
    sink_.finish();
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] static void fail() {
    throw Error(fmt::format("cannot keep the predictions in {} until their number is known: {}",
                            std::filesystem::temp_directory_path().string(), std::generic_category().message(errno)));
  }

  PredictionSink sink_;
  const OutputMeaning& meaning_;
  bool probabilities_;
  std::int64_t rows_ = 0;
  std::unique_ptr<std::FILE, Close> waiting_;  ///< the rows, where the output is a pipe, whose header comes first
};

/// An array of each output, by its layer's name.
class NpzPredictions : public PredictionWriter {
 public:
  NpzPredictions(const PredictionOutput& output, const Meanings& meanings)
      : archive_(output.file.value()), meanings_(meanings), probabilities_(output.probabilities) {
    for (const OutputMeaning& meaning : meanings) {
      archive_.write(archive_.add(meaning.layer + ".npy"), npy_header(0, meaning.shape));
    }
  }

  void write(std::int64_t, std::span<const ExampleOutput> outputs, const std::string&,
             std::span<const std::string>) override {
    ++rows_;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      write_row(meanings_[i], outputs[i], probabilities_, [&](std::string_view bytes) { archive_.write(i, bytes); });
    }
  }
  void finish() override {
    for (std::size_t i = 0; i < meanings_.size(); ++i) {
      archive_.overwrite_beginning(i, npy_header(rows_, meanings_[i].shape));
    }
    archive_.finish();
  }

 private:
  data::ZipWriter archive_;
  const Meanings& meanings_;
  bool probabilities_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<PredictionWriter> npy_predictions(const PredictionOutput& output, const Meanings& meanings) {
  if (meanings.size() > 1) {
    throw UsageError(
        fmt::format("--output {}: an .npy file holds one array, and the model has {} outputs; write .npz, "
                    "which has an array for each",
                    output.file ? output.file->string() : "", meanings.size()));
  }
  return std::make_unique<NpyPredictions>(output, meanings.front());
}

std::unique_ptr<PredictionWriter> npz_predictions(const PredictionOutput& output, const Meanings& meanings) {
  require_not_read(output.file.value());
  return std::make_unique<NpzPredictions>(output, meanings);
}

}  // namespace mirrortrain
