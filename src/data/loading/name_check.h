#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/errors.h"
#include "data/example_spec.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// The transforms of `data.preprocessing` whose input or output the model has.
struct KnownSteps {
  std::vector<PreprocessingStep> steps;
  std::vector<std::size_t> numbers;                      ///< of each in the file
  std::vector<std::vector<PreprocessingStep>> of_input;  ///< those of each of the model's inputs
  bool are_all = true;
};

/// Checks the names of inputs and outputs in the section `data` against the model's. Errors are added to `errors`.
class NameCheck {
 public:
  /// All must outlive it.
  NameCheck(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors);

  /// Every transform has to say whose it is where the model has several inputs or outputs. One that does not, or says a
  /// wrong one, is checked no further.
  KnownSteps known_steps(const std::vector<PreprocessingStep>& steps);

  /// Whether a source gives the model's inputs and outputs by their names. The training data come first: a split that
  /// takes their names repeats none of their errors. `path`: the split's, at `place`.
  template <class Format>
  bool fits(const Format& source, const config::Place& place, const std::string& path) {
    FieldNames names = field_names(source);
    if constexpr (is_table<Format>) {  // where it says nothing, those of the training data count
      if (source.inputs.empty() && !source.features && !inputs_of_tables_.empty()) names.inputs = inputs_of_tables_;
    }
    constexpr bool kInherits = is_table<Format> || std::is_same_v<Format, Npz>;
    const bool fits = fit(names, kInherits, place, path);
    if constexpr (requires { source.weights; }) {
      if (fits && source.weights) check_weights(*source.weights);
    }
    return fits;
  }

 private:
  /// A section of a source that gives names, such as `inputs`, and what each of them is called, "input".
  struct NamedSection {
    std::string_view what, key;
    std::vector<std::string> wanted;  ///< the model's names
    bool is_wrong_in_train = false;
  };

  bool fit(const FieldNames& names, bool inherits, const config::Place& place, const std::string& path);
  bool check_names(const NamedSection& section, const std::vector<std::string>& given, const config::Place& place,
                   const std::string& path);
  void check_name(const config::Located<std::optional<std::string>>& given, const NamedSection& section,
                  const std::string& path);
  template <class T>
  void check_weights(const config::ByName<config::Located<T>>& weights) {
    for (const auto& [name, located] : weights.named.entries) require_output(name, located.place, located.path);
  }
  void require_output(const std::string& name, const config::Place& place, const std::string& path);

  const ExampleSpec& spec_;
  const PlaceOf& place_of_;
  config::Errors& errors_;
  NamedSection inputs_{"input", "inputs", {}}, outputs_{"output", "labels", {}};
  std::vector<std::string> inputs_of_tables_;  ///< the names of those of the training data, if they are a table
};

}  // namespace mirrortrain::data
