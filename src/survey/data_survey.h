#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "survey/duplicates.h"
#include "survey/row_statistics.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::survey {

/// A feature, a channel or an output's number.
struct SurveyedNumber {
  std::string name;
  Moments moments;
};

struct SurveyedInput {
  std::string name;  ///< empty for the only one
  std::string origin, dtype, shape;
  std::vector<SurveyedNumber> numbers;
};

struct SurveyedOutput {
  std::string name;  ///< empty for the only one
  std::string dtype, shape;
  std::int64_t missing = 0;                                   ///< examples without a label
  std::vector<std::pair<std::string, std::int64_t>> classes;  ///< with their numbers of examples; none: quantities
  std::vector<SurveyedNumber> numbers;                        ///< of quantities
};

struct SurveyedSplit {
  std::string name;  ///< train, validation, test
  std::int64_t examples = 0, left_out = 0;
  std::vector<SurveyedInput> inputs;
  std::vector<SurveyedOutput> outputs;
  std::vector<std::pair<std::string, std::int64_t>> missing_cells;  ///< of a table's columns that have any
  std::vector<std::string> remarks;
  Duplicates duplicates;  ///< of examples of the same split
};

/// Examples of a split that are in another, too.
struct SharedExamples {
  std::string first, second;
  Duplicates found;
};

/// One of the first pictures of the training data.
struct SurveyedPicture {
  std::vector<std::byte> png;
  std::string label;  ///< its class, if it has one
};

/// What a person looks at before training.
struct DataSurvey {
  std::string configuration;  ///< its name
  std::vector<SurveyedSplit> splits;
  std::vector<SharedExamples> shared;  ///< train with validation, train with test, validation with test
  std::vector<SurveyedPicture> pictures;
};

/// Reads all examples of all splits once, in the memory that data.memory allows beside 16 bytes an example. Throws as
/// loading the data does.
DataSurvey survey_data(const CheckedConfiguration& checked, bool wants_pictures);

std::string survey_text(const DataSurvey& survey);
nlohmann::ordered_json survey_json(const DataSurvey& survey);
/// A page that needs no other file and no network.
std::string survey_page(const DataSurvey& survey);

/// "1234567", "0.125", "-1e+30"
std::string number_text(double number);

}  // namespace mirrortrain::survey
