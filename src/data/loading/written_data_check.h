#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "config/errors.h"
#include "data/example_spec.h"
#include "data/loading/name_check.h"
#include "data/sources/data_options.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {

/// Checks data that are in the configuration itself, or described by it, against the model. Errors are added to
/// `errors`.
class WrittenDataCheck {
 public:
  /// `known`: all transforms, which fit by themselves but for the inputs that have a wrong size. All must outlive it.
  WrittenDataCheck(const KnownSteps& known, std::set<std::size_t> has_wrong_size, const ExampleSpec& spec,
                   config::Errors& errors);

  /// A source that gives the model's inputs and outputs by their names.
  void check(const Inline& source);
  void check(const Synthetic& source);

 private:
  void add_at_row(const InlineArray& written, const WrongNumber& wrong);
  void check_labels(const SyntheticLabels& labels, std::size_t output, const std::vector<Shape>& shapes);
  /// The mismatch of an input's examples with a known shape, or "". Adds errors of transforms that are not applicable
  /// to them.
  std::string example_mismatch(std::size_t input, const Shape& example);
  /// The same for an output's labels, which may be pictures that are transformed with the features. `examples`: the
  /// shapes of all inputs.
  std::string label_mismatch(std::size_t output, const std::vector<Shape>& examples, const Shape& label);
  void add(const config::Place& place, const std::string& path, const std::string& message);
  template <class Placed>
  void add_at(const Placed& at, const std::string& message) {
    add(at.place, at.path, message);
  }

  const KnownSteps& known_;
  const ExampleSpec& spec_;
  ExampleSpec read_;  ///< what the data have to be as they are read
  Wanted wanted_;
  config::Errors& errors_;
  std::set<std::size_t> has_wrong_size_;  ///< inputs
  bool has_no_pictures_ = false;
};

}  // namespace mirrortrain::data
