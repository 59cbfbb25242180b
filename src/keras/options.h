#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/codec.h"
#include "config/without_defaults.h"
#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

// Keras's options and values are the program's own wherever a declaration has them: what is declared, with its names
// and aliases, says how each is written.

/// The place of an option, and where its errors are reported.
struct OptionPlace {
  Problems& problems;
  std::string where;  ///< "layer 'stem' (Conv2D)"

  OptionPlace inside(std::string_view option) const;
};

/// A value as the schema has it; null, with a problem reported, where it cannot be said.
config::Value converted(const Json& value, const config::Schema& schema, const OptionPlace& place);

/// The options of a class, by the declaration of what stands for it here. Those in `taken` are left out, as are those
/// that say nothing here.
std::vector<config::Value::Entry> converted_options(const Json& options, const config::Schema& section,
                                                    const OptionPlace& place,
                                                    const std::vector<std::string_view>& taken = {});

/// The one of a choice's types that stands for a class or a name of Keras's; null if none does.
const config::Schema* type_named(const config::Schema& choice, std::string_view name);

/// A plain value as it is: numbers in the fewest digits that float32 keeps.
config::Value plain_value(const Json& value);

/// The schema of a type of the configuration, made once.
template <class T>
const config::Schema& schema_of() {
  static const config::Schema schema = config::Codec<T>::schema({});
  return schema;
}

/// Reads a converted value as the configuration's reader does, reporting what is wrong with it, and leaves out what is
/// the default anyway. `out`: what was read.
template <class T>
config::Value checked(const config::Value& value, const OptionPlace& place, T& out);

/// Reports each line of a reader's errors.
void report(const config::Errors& errors, const OptionPlace& place);

template <class T>
config::Value checked(const config::Value& value, const OptionPlace& place, T& out) {
  config::Errors errors;
  std::map<std::string, std::string> replaced;
  std::unordered_map<std::string, config::Place> origins;
  config::Reading reading{errors, origins, replaced};
  config::Codec<T>::read(config::Node(value, reading), out);
  report(errors, place);
  return errors.empty() ? config::without_defaults(config::Codec<T>::show(out), schema_of<T>()) : value;
}

}  // namespace mirrortrain::keras
