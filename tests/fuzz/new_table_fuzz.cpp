#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "data/loading/new_data.h"
#include "data/loading/new_table.h"
#include "fuzz/data_set.h"

namespace mirrortrain::fuzz {
namespace {

/// A run that was trained on a table.
struct Trained {
  data::DataOptions options;
  data::ExampleSpec spec;
  data::Adapted adapted;

  Trained() {
    const std::string table = "size,color,kind\n1,red,a\n2.5,blue,b\n";
    const InputFile file(reinterpret_cast<const std::uint8_t*>(table.data()), table.size());
    config::Errors errors;
    config::Document document =
        config::load_text("{global_batch_size: 2, train: {format: csv, file: " + file.path() +
                              ", labels: kind, missing: mean, encoding: {color: {one_hot: {unknown: own_class}}}}}",
                          "fuzz.yaml", {}, errors);
    options = config::read<data::DataOptions>(document, errors);
    errors.throw_if_any();
    spec.inputs.push_back({"input", {4}, "model.input_shape"});
    spec.labels.push_back({.name = "output", .dtype = DType::kInt32, .classes = 2});
    adapted = data::load(options, 1, nullptr).adapted;
  }
};

struct Rows {
  std::vector<float> numbers;
  std::vector<std::int64_t> left_out;
  std::int64_t count = 0;

  void add(const data::Dataset& examples) {
    data::with_element_type(examples.features(0).dtype, [&](auto* type) {
      for (const auto number : examples.features(0).span<std::remove_pointer_t<decltype(type)>>())
        numbers.push_back(static_cast<float>(number));
    });
  }
  bool operator==(const Rows&) const = default;
};

/// Null for files that are refused.
std::optional<Rows> in_parts(const Trained& trained, const std::string& path, data::OnBadExample on_bad,
                             std::int64_t block) {
  const data::Wanted wanted = data::wanted_by(&trained.spec, {});
  Rows rows;
  try {
    data::NewTable table({{path}, std::get<data::Csv>(data::new_source(path, trained.options)), on_bad, 1, block},
                         trained.adapted, wanted);
    while (const auto one = table.next()) {
      if (one->examples) rows.add(*one->examples);
      rows.left_out.insert(rows.left_out.end(), one->left_out.begin(), one->left_out.end());
    }
    rows.count = table.rows();
    return rows;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Rows> whole(const Trained& trained, const std::string& path, data::OnBadExample on_bad) {
  Rows rows;
  try {
    const data::Dataset examples = data::read_new(data::new_source(path, trained.options), trained.adapted,
                                                  data::wanted_by(&trained.spec, {}), on_bad, 1);
    rows.add(examples);
    if (examples.left_out() != nullptr) rows.left_out = examples.left_out()->rows;
    rows.count = examples.rows() + std::ssize(rows.left_out);
    return rows;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace
}  // namespace mirrortrain::fuzz

/// The first two bytes choose what is done about bad rows, how large parts are, and CSV or rows of JSON. A table in
/// parts must be the same as a whole one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  static const fuzz::Trained trained;
  if (size < 2) return 0;
  const auto on_bad = bytes[0] % 2 == 1 ? data::OnBadExample::kSkip : data::OnBadExample::kError;
  const bool is_json = bytes[0] / 2 % 2 == 1;
  const std::int64_t block = 1 + bytes[1] % 7;
  const fuzz::InputFile file(bytes + 2, size - 2);
  if (!is_json) {
    if (fuzz::whole(trained, file.path(), on_bad) != fuzz::in_parts(trained, file.path(), on_bad, block)) std::abort();
    return 0;
  }
  // Which its ending says.
  const std::string link = std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()) + ".jsonl");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(file.path(), link);
  const auto once = fuzz::in_parts(trained, link, on_bad, 1 << 20);
  const auto again = fuzz::in_parts(trained, link, on_bad, block);
  std::filesystem::remove(link);
  if (once != again) std::abort();
  return 0;
}
