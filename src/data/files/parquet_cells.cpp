// Values of Arrow's types as cells of CSV.
#include "data/files/parquet_cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/csv_cell.h"

namespace mirrortrain::data {
namespace {

template <class T>
void put_number(T number, std::string& to) {
  std::array<char, 64> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  to.append(digits.data(), end);
}

/// All digits by which a number differs from others, so that it is read back as it is. Whole numbers are written as
/// integers are, as pandas makes numbers with a fraction of integers some of which are missing.
void put_float(double number, std::string& to) {
  constexpr double kWhole = 1LL << 53;
  const bool is_negative_zero = number == 0 && std::signbit(number);
  if (std::isnan(number)) {
    to += "nan";
  } else if (std::abs(number) <= kWhole && number == std::trunc(number) && !is_negative_zero) {
    put_number(static_cast<std::int64_t>(number), to);
  } else {
    put_number(number, to);
  }
}

double half_as_double(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

template <class Type>
const auto& as(const arrow::Array& array) {
  return static_cast<const typename arrow::TypeTraits<Type>::ArrayType&>(array);
}

/// Whatever the unit of a duration is.
double seconds_of(const arrow::DurationArray& array, std::int64_t row) {
  const auto count = static_cast<double>(array.Value(row));
  switch (static_cast<const arrow::DurationType&>(*array.type()).unit()) {
    case arrow::TimeUnit::SECOND: return count;
    case arrow::TimeUnit::MILLI: return count / 1e3;
    case arrow::TimeUnit::MICRO: return count / 1e6;
    default: return count / 1e9;
  }
}

/// Without zeros that end a fraction, so that a time is one word whatever its unit is.
void trim_fraction(std::string& time) {
  const std::size_t point = time.find('.');
  if (point == time.npos) return;
  const std::size_t end = std::min(time.find_first_not_of("0123456789", point + 1), time.size());  // of the fraction
  const std::size_t last = time.find_last_not_of('0', end - 1);
  const std::size_t kept = last == point ? point : last + 1;
  time.erase(kept, end - kept);
}

}  // namespace

std::string why_no_cells(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::STRUCT:
    case arrow::Type::MAP:
    case arrow::Type::SPARSE_UNION:
    case arrow::Type::DENSE_UNION: return "is nested (" + type.ToString() + ")";
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY: return "has bytes that are no text (" + type.ToString() + ")";
    case arrow::Type::EXTENSION: return why_no_cells(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case arrow::Type::DICTIONARY: return why_no_cells(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return "";
  }
}

void put_cell(const arrow::Array& array, std::int64_t row, std::string& to) {
  if (array.IsNull(row)) return;
  switch (array.type_id()) {
    case arrow::Type::NA: return;
    case arrow::Type::BOOL: to += as<arrow::BooleanType>(array).Value(row) ? '1' : '0'; return;
    case arrow::Type::INT8: return put_number(int{as<arrow::Int8Type>(array).Value(row)}, to);
    case arrow::Type::INT16: return put_number(as<arrow::Int16Type>(array).Value(row), to);
    case arrow::Type::INT32: return put_number(as<arrow::Int32Type>(array).Value(row), to);
    case arrow::Type::INT64: return put_number(as<arrow::Int64Type>(array).Value(row), to);
    case arrow::Type::UINT8: return put_number(int{as<arrow::UInt8Type>(array).Value(row)}, to);
    case arrow::Type::UINT16: return put_number(as<arrow::UInt16Type>(array).Value(row), to);
    case arrow::Type::UINT32: return put_number(as<arrow::UInt32Type>(array).Value(row), to);
    case arrow::Type::UINT64: return put_number(as<arrow::UInt64Type>(array).Value(row), to);
    case arrow::Type::HALF_FLOAT: {
      const auto* const halves = static_cast<const arrow::PrimitiveArray&>(array).values()->data_as<std::uint16_t>();
      return put_float(half_as_double(halves[array.offset() + row]), to);
    }
    case arrow::Type::FLOAT: return put_float(double{as<arrow::FloatType>(array).Value(row)}, to);
    case arrow::Type::DOUBLE: return put_float(as<arrow::DoubleType>(array).Value(row), to);
    case arrow::Type::STRING: return append_quoted_cell(as<arrow::StringType>(array).GetView(row), to);
    case arrow::Type::LARGE_STRING: return append_quoted_cell(as<arrow::LargeStringType>(array).GetView(row), to);
    case arrow::Type::STRING_VIEW: return append_quoted_cell(as<arrow::StringViewType>(array).GetView(row), to);
    case arrow::Type::DECIMAL128: to += as<arrow::Decimal128Type>(array).FormatValue(row); return;
    case arrow::Type::DECIMAL256: to += as<arrow::Decimal256Type>(array).FormatValue(row); return;
    case arrow::Type::DICTIONARY: {
      const auto& words = static_cast<const arrow::DictionaryArray&>(array);
      const std::int64_t word = words.GetValueIndex(row);
      if (word < 0 || word >= words.dictionary()->length()) throw std::runtime_error("a word is not in its dictionary");
      return put_cell(*words.dictionary(), word, to);
    }
    case arrow::Type::EXTENSION: return put_cell(*static_cast<const arrow::ExtensionArray&>(array).storage(), row, to);
    case arrow::Type::DURATION: return put_float(seconds_of(as<arrow::DurationType>(array), row), to);
    default: break;
  }
  std::string text = taken(array.GetScalar(row))->ToString();
  if (arrow::is_decimal(array.type_id())) {  // of few digits, which earlier versions of Arrow do not have
    to += text;
    return;
  }
  if (!arrow::is_date(array.type_id())) trim_fraction(text);
  append_quoted_cell(text, to);
}

}  // namespace mirrortrain::data
