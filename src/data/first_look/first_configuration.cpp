#include "data/first_look/first_configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "data/files/file_list.h"
#include "data/first_look/first_model.h"
#include "data/first_look/folded_line.h"
#include "report/fitted.h"

namespace mirrortrain::data {
namespace {

std::string classes_text(const DataLook& look) {
  if (look.classes == 0) return "labels are numbers to predict";
  if (look.names.empty()) return fmt::format("{} classes", look.classes);
  std::vector<std::string> names(look.names.begin(),
                                 look.names.begin() + std::min<std::ptrdiff_t>(10, std::ssize(look.names)));
  return fmt::format("{} classes: {}{}", look.classes, fmt::join(names, ", "),
                     names.size() < look.names.size() ? ", ..." : "");
}

/// Formats a text as comment lines.
std::string comment(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return is_control(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80; },
      ' ');
  return report::fitted("# " + text, kLineColumns) + "\n";
}

/// A name for the runs: the file's, without its ending and a glob's wildcards.
std::string name_of_data(const std::string& path) {
  std::filesystem::path named = std::filesystem::absolute(path).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  std::string name = named.stem().string();
  if (!has_wildcards(name) || std::filesystem::exists(path)) return name;
  std::erase_if(name, [](char c) { return std::string_view("*?[]").find(c) != std::string_view::npos; });
  while (!name.empty() && std::string_view("-_.").find(name.back()) != std::string_view::npos) name.pop_back();
  return name.empty() ? "data" : name;
}

}  // namespace

std::string first_configuration(const std::string& path, const DataLook& look) {
  const std::int64_t batch = look.examples >= 2000 ? 64 : look.examples >= 200 ? 32 : 8;
  std::string text = comment("Made by `mirrortrain init`; every value may be changed.") +
                     comment(fmt::format("{} examples, {}", look.examples, classes_text(look)));
  for (const std::string& remark : look.remarks) text += comment(remark);
  text += fmt::format("name: {}\nseed: 1\ndata:\n  global_batch_size: {}\n", yaml_text(name_of_data(path)), batch);
  text += folded("  train: " + look.train);
  constexpr std::int64_t kFew = 5;  // too few for a meaningful validation
  if (!look.validation.empty()) {
    text += folded("  validation: " + look.validation);
  } else if (look.examples >= kFew) {
    text += "  validation: {fraction: 0.2, shuffle: true}     # drawn by the seed\n";
  }
  if (!look.test.empty()) text += folded("  test: " + look.test);
  if (look.skips_bad) text += "  on_bad_example: skip\n";
  if (const std::string steps = first_preprocessing(look); !steps.empty()) text += "  preprocessing:\n" + steps;
  text += first_model(look);
  text += look.classes > 0
              ? fmt::format("loss: {{type: {}categorical_crossentropy, from_logits: true}}\nmetrics: [accuracy]\n",
                            look.is_one_hot ? "" : "sparse_")
              : "loss: mean_squared_error\nmetrics: [mean_absolute_error]\n";
  return text +
         fmt::format("optimizer: {{type: adam, learning_rate: {}}}\n", look.examples >= 2000 ? "0.001" : "0.005") +
         "strategy: {type: mirrored, devices: all}\ntraining: {epochs: 20}\n";
}

}  // namespace mirrortrain::data
