#pragma once

#include <functional>
#include <optional>
#include <string>

namespace mirrortrain {

/// Returns an environment variable, nullopt if it is not set. A function, so that tests need not set variables.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// This process's environment.
Environment process_environment();

/// A variable with a whole number from `low` to `high`; nullopt if it is not set. Throws UsageError, naming the
/// variable, for another text.
std::optional<long> number_in(const Environment& environment, const std::string& name, long low, long high);
/// The same for a required variable: `why` ends the message if it is not set ("which torchrun sets beside RANK").
long required_number(const Environment& environment, const std::string& name, long low, long high,
                     const std::string& why);
std::string required_text(const Environment& environment, const std::string& name, const std::string& why);

}  // namespace mirrortrain
