#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "serve/tensors/inference.h"

namespace mirrortrain {
namespace {

using ParsedJson = nlohmann::json;

/// The elements of a tensor, however deeply they are nested.
struct ListedElements {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  bool is_given = false;
};

/// Parses a request, with the elements of tensors apart: a tree of them would take many times their memory. What is
/// kept beside them is bounded.
class RequestParser : public nlohmann::json_sax<ParsedJson> {
 public:
  ParsedJson parse(std::string_view text) {
    if (ParsedJson::sax_parse(text.begin(), text.end(), this)) return std::move(root_);
    throw Refused(fmt::format("the body is no JSON: {}", error_));
  }
  /// Of the input with this number.
  ListedElements& elements(std::size_t input) { return input < elements_.size() ? elements_[input] : none_; }

  bool null() override { return in_data_ ? add(std::numeric_limits<double>::quiet_NaN()) : keep(nullptr); }
  bool boolean(bool value) override { return in_data_ ? add(value ? 1 : 0) : keep(value); }
  bool number_integer(number_integer_t value) override { return in_data_ ? add(exact(value)) : keep(value); }
  bool number_unsigned(number_unsigned_t value) override { return in_data_ ? add(exact(value)) : keep(value); }
  bool number_float(number_float_t value, const string_t&) override { return in_data_ ? add(value) : keep(value); }
  bool string(string_t& value) override { return in_data_ ? add(value) : keep(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none

  bool start_object(std::size_t) override {
    if (in_data_) throw Refused("expected the data of an input as numbers, texts or lists of them");
    if (open_.size() == kInput && in_inputs_ && open_.back()->is_array()) elements_.emplace_back();
    return open(ParsedJson::object());
  }
  bool key(string_t& key) override {
    if (open_.size() == kInputs) {
      in_inputs_ = key == "inputs";
      if (in_inputs_ && std::exchange(has_inputs_, true)) throw Refused("the request has 'inputs' twice");
    } else if (open_.size() == kOfInput && in_inputs_ && key == "data" && !elements_.empty()) {
      in_data_ = true;
      if (std::exchange(elements_.back().is_given, true)) throw Refused("an input has 'data' twice");
    }
    key_ = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    if (!in_data_) return open(ParsedJson::array());
    ++data_depth_;
    require_depth();
    return true;
  }
  bool end_array() override {
    if (!in_data_) return close();
    in_data_ = --data_depth_ > 0;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // The library's text without its own name and position in front and its grammar's words behind.
    std::string text = error.what();
    for (const std::string_view begin : {"] ", " - "}) {
      if (const std::size_t found = text.find(begin); found != text.npos) text = text.substr(found + begin.size());
    }
    for (const std::string_view end : {"; expected ", "; last read"}) text = text.substr(0, text.find(end));
    error_ = text.find("end of input") != text.npos ? fmt::format("it ends at byte {}, within a value", position)
                                                    : fmt::format("at byte {}: {}", position, shortened(text, 200));
    return false;
  }

 private:
  static constexpr std::size_t kMostDepth = 32;
  static constexpr std::size_t kMostKept = 1 << 16;
  static constexpr std::size_t kInputs = 1, kInput = 2, kOfInput = 3;  ///< how deep its inputs, one and its keys are

  void require_depth() const {
    if (open_.size() + data_depth_ > kMostDepth) {
      throw Refused(fmt::format("expected JSON of at most {} levels", kMostDepth));
    }
  }
  bool keep(ParsedJson value) {
    place(std::move(value));
    return true;
  }
  ParsedJson& place(ParsedJson value) {
    if (++kept_ > kMostKept) {
      throw Refused(fmt::format("expected at most {} values beside the data of inputs", kMostKept), 413);
    }
    if (open_.empty()) return root_ = std::move(value);
    ParsedJson& in = *open_.back();
    if (in.is_array()) return in.emplace_back(std::move(value));
    return in[key_] = std::move(value);
  }
  bool open(ParsedJson container) {
    open_.push_back(&place(std::move(container)));
    require_depth();
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  bool add(double number) {
    elements_.back().numbers.push_back(number);
    return end_element();
  }
  bool add(std::string& text) {
    if (elements_.back().texts.size() == kMostTexts) {
      throw Refused(fmt::format("expected at most {} texts for an input; send fewer examples at once", kMostTexts),
                    413);
    }
    elements_.back().texts.push_back(std::move(text));
    return end_element();
  }
  bool end_element() {
    const ListedElements& to = elements_.back();
    if (!to.texts.empty() && !to.numbers.empty()) {
      throw Refused(
          fmt::format("expected the data of an input as numbers or as texts, found both in input {} (counting "
                      "from 0)",
                      elements_.size() - 1));
    }
    in_data_ = data_depth_ > 0;  // else it was all of the data
    return true;
  }

  ParsedJson root_;
  std::vector<ParsedJson*> open_;  ///< lists and objects that have begun
  std::string key_, error_;
  std::size_t kept_ = 0, data_depth_ = 0;
  bool has_inputs_ = false, in_inputs_ = false, in_data_ = false;
  std::vector<ListedElements> elements_;
  ListedElements none_;
};

/// A key's value, or null. Throws Refused if it is of another type.
const ParsedJson* find(const ParsedJson& object, const char* key, bool (ParsedJson::*is_right)() const,
                       const char* what) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return nullptr;
  if (!((*found).*is_right)()) throw Refused(fmt::format("expected '{}' as {}", key, what));
  return &*found;
}
const ParsedJson* find_object(const ParsedJson& object, const char* key) {
  return find(object, key, &ParsedJson::is_object, "an object");
}
const ParsedJson* find_list(const ParsedJson& object, const char* key) {
  return find(object, key, &ParsedJson::is_array, "a list");
}
const ParsedJson* find_text(const ParsedJson& object, const char* key) {
  return find(object, key, &ParsedJson::is_string, "a text");
}

std::string required_text(const ParsedJson& object, const char* key, const std::string& of) {
  const ParsedJson* const found = find_text(object, key);
  if (found == nullptr) throw Refused(fmt::format("{} has no '{}'", of, key));
  return found->get<std::string>();
}

bool flag_in(const ParsedJson& object, const char* key, bool otherwise) {
  const ParsedJson* const parameters = find_object(object, "parameters");
  const ParsedJson* const flag =
      parameters ? find(*parameters, key, &ParsedJson::is_boolean, "true or false") : nullptr;
  return flag ? flag->get<bool>() : otherwise;
}

std::optional<std::int64_t> number_in(const ParsedJson& object, const char* key) {
  const ParsedJson* const parameters = find_object(object, "parameters");
  const ParsedJson* const number =
      parameters ? find(*parameters, key, &ParsedJson::is_number_unsigned, "a whole number from 0") : nullptr;
  if (number == nullptr) return std::nullopt;
  const auto found = number->get<std::uint64_t>();
  if (found <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return static_cast<std::int64_t>(found);
  throw Refused(fmt::format("'{}': {} is too large", key, found));
}

std::vector<std::int64_t> shape_of(const ParsedJson& input, const std::string& of) {
  const ParsedJson* const listed = find_list(input, "shape");
  if (listed == nullptr) throw Refused(of + " has no 'shape'");
  std::vector<std::int64_t> shape;
  for (const ParsedJson& extent : *listed) {
    const bool fits =
        extent.is_number_integer() && (!extent.is_number_unsigned() || extent.get<std::uint64_t>() >> 62 == 0);
    if (!fits) throw Refused(of + ": expected 'shape' as a list of whole numbers");
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

/// `binary`: what follows the JSON, from which the tensor's bytes are taken.
Tensor read_tensor(const ParsedJson& input, ListedElements& elements, std::string_view& binary) {
  if (!input.is_object()) throw Refused("expected each of 'inputs' as an object");
  std::string name = required_text(input, "name", "an input");
  const std::string of = fmt::format("input '{}'", shortened(name));
  const Datatype& type = datatype_of(required_text(input, "datatype", of));
  std::vector<std::int64_t> shape = shape_of(input, of);
  if (const auto size = number_in(input, "binary_data_size")) {
    if (elements.is_given) throw Refused(of + " has both 'data' and 'binary_data_size'");
    const auto bytes = static_cast<std::uint64_t>(*size);
    if (bytes > binary.size()) {
      throw Refused(fmt::format("{}: expected {} bytes of binary data, as its 'binary_data_size' says, found {}", of,
                                bytes, binary.size()));
    }
    const std::string_view own = binary.substr(0, bytes);
    binary.remove_prefix(bytes);
    return tensor_of_bytes(std::move(name), std::move(shape), type, own);
  }
  if (!elements.is_given) throw Refused(of + " has no 'data'");
  if (!elements.texts.empty())
    return tensor_of_texts(std::move(name), std::move(shape), type, std::move(elements.texts));
  return tensor_of_numbers(std::move(name), std::move(shape), type, elements.numbers);
}

WantedOutput read_output(const ParsedJson& output, bool is_binary) {
  if (!output.is_object()) throw Refused("expected each of 'outputs' as an object");
  WantedOutput wanted{required_text(output, "name", "an output"), flag_in(output, "binary_data", is_binary)};
  wanted.classes = number_in(output, "classification").value_or(0);
  return wanted;
}

}  // namespace

InferenceRequest read_inference(std::string_view body, std::optional<std::size_t> json_bytes) {
  if (json_bytes.value_or(0) > body.size()) {
    throw Refused(
        fmt::format("expected {} bytes of JSON, as the header Inference-Header-Content-Length says, found {} "
                    "bytes in all",
                    *json_bytes, body.size()));
  }
  std::string_view binary = body.substr(json_bytes.value_or(body.size()));
  RequestParser parser;
  const ParsedJson json = parser.parse(body.substr(0, body.size() - binary.size()));
  if (!json.is_object()) throw Refused("expected a request as an object of JSON");
  InferenceRequest request;
  if (const ParsedJson* const id = find_text(json, "id")) request.id = id->get<std::string>();
  request.is_binary = flag_in(json, "binary_data_output", false);
  const ParsedJson* const inputs = find_list(json, "inputs");
  if (inputs == nullptr || inputs->empty()) throw Refused("the request has no 'inputs'");
  std::size_t objects = 0;
  ListedElements none;
  for (const ParsedJson& input : *inputs) {
    request.inputs.push_back(read_tensor(input, input.is_object() ? parser.elements(objects++) : none, binary));
  }
  if (!binary.empty()) {
    throw Refused(fmt::format("{} bytes of binary data are left behind those of the inputs", binary.size()));
  }
  if (const ParsedJson* const outputs = find_list(json, "outputs")) {
    for (const ParsedJson& output : *outputs) request.outputs.push_back(read_output(output, request.is_binary));
  }
  return request;
}

}  // namespace mirrortrain
