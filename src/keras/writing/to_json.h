#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"
#include "config/value.h"
#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// A serialized object of Keras's.
Json object_json(std::string_view module, std::string_view class_name, Json config);

/// A value of the configuration as Keras writes it, by its schema: names stay texts, what a choice or a regularizer
/// stands for becomes an object. `where`: of problems.
Json to_json(const config::Value& value, const config::Schema& schema, const std::string& where, Problems& problems);

/// The options of a section that are not their defaults, as Keras's constructor takes them, but those in `taken`.
Json options_json(const config::Value& options, const config::Schema& section, const std::string& where,
                  Problems& problems, const std::vector<std::string_view>& taken = {});

}  // namespace mirrortrain::keras
