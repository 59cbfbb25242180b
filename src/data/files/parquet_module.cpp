// Reading Parquet, in the module that is loaded for it.
#include "data/files/parquet_module.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/quoted_cell.h"

namespace mirrortrain::data {
namespace {

using Json = nlohmann::json;

void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T taken(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

/// Why a column of this type cannot be cells; "" if it can.
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
    case arrow::Type::EXTENSION: return "is of a type of its own (" + type.ToString() + ")";
    case arrow::Type::DICTIONARY: return why_no_cells(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return "";
  }
}

template <class T>
void put_number(T number, std::string& to) {
  std::array<char, 64> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  to.append(digits.data(), end);
}

/// All digits by which a number differs from others, so that it is read back as it is.
void put_float(double number, std::string& to) {
  if (std::isnan(number)) {
    to += "nan";
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
      return put_cell(*words.dictionary(), words.GetValueIndex(row), to);
    }
    case arrow::Type::DURATION: return put_float(seconds_of(as<arrow::DurationType>(array), row), to);
    default: return append_quoted_cell(taken(array.GetScalar(row))->ToString(), to);  // dates and times
  }
}

class Parquet {
 public:
  explicit Parquet(const char* path) {
    ::parquet::arrow::FileReaderBuilder builder;
    // Pages are read one after the other, rather than a column's whole part of a row group at once.
    ::parquet::ReaderProperties reading = ::parquet::default_reader_properties();
    reading.enable_buffered_stream();
    reading.set_buffer_size(std::int64_t{1} << 16);  // of each column
    require(builder.Open(taken(arrow::io::ReadableFile::Open(path)), reading));
    ::parquet::ArrowReaderProperties properties;
    // So many cells are text at a time, however many columns there are.
    const int columns = builder.raw_reader()->metadata()->num_columns();
    properties.set_batch_size(std::clamp<std::int64_t>(kCells / std::max(columns, 1), kFewestRows, kMostRows));
    properties.set_pre_buffer(false);
    properties.set_use_threads(false);
    builder.properties(properties);
    reader_ = taken(builder.Build());
    std::shared_ptr<arrow::Schema> schema;
    require(reader_->GetSchema(&schema));
    schema_ = std::move(schema);
    const ::parquet::SchemaDescriptor& leaves = *reader_->parquet_reader()->metadata()->schema();
    leaves_.resize(static_cast<std::size_t>(schema_->num_fields()));
    for (int leaf = 0; leaf < leaves.num_columns(); ++leaf) {
      const int field = leaves.group_node()->FieldIndex(*leaves.GetColumnRoot(leaf));
      if (field < 0 || field >= schema_->num_fields()) throw std::runtime_error("its columns are damaged");
      leaves_[static_cast<std::size_t>(field)].push_back(leaf);
    }
  }

  Json columns() const {
    Json columns = Json::array();
    for (const auto& field : schema_->fields()) {
      columns.push_back({{"name", field->name()}, {"why", why_no_cells(*field->type())}});
    }
    const ::parquet::FileMetaData& file = *reader_->parquet_reader()->metadata();
    double bytes = 0;
    for (int i = 0; i < file.num_row_groups(); ++i) bytes += static_cast<double>(file.RowGroup(i)->total_byte_size());
    return {{"rows", file.num_rows()}, {"bytes", bytes}, {"columns", std::move(columns)}};
  }

  /// Null at the end.
  std::optional<std::string> next(const std::uint8_t* wanted) {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (!batches_) {
      fields_.clear();
      std::vector<int> leaves, groups;
      for (int i = 0; i < schema_->num_fields(); ++i) {
        const auto& own = leaves_[static_cast<std::size_t>(i)];
        if (wanted[i] == 0 || !why_no_cells(*schema_->field(i)->type()).empty()) continue;
        leaves.insert(leaves.end(), own.begin(), own.end());
        fields_.push_back(i);
      }
      for (int i = 0; i < reader_->num_row_groups(); ++i) groups.push_back(i);
      batches_ = taken(reader_->GetRecordBatchReader(groups, leaves));
    }
    require(batches_->ReadNext(&batch));
    if (!batch) return std::nullopt;
    require(batch->Validate());
    return lines_of(*batch);
  }

 private:
  static constexpr std::int64_t kCells = 1 << 17, kFewestRows = 64, kMostRows = 8192;

  std::string lines_of(const arrow::RecordBatch& batch) const {
    const int columns = schema_->num_fields();
    if (batch.num_columns() != static_cast<int>(fields_.size())) throw std::runtime_error("its columns are damaged");
    std::string lines;
    for (std::int64_t row = 0; row < batch.num_rows(); ++row) {
      std::size_t next = 0;
      for (int field = 0; field < columns; ++field) {
        if (field > 0) lines += ',';
        const std::size_t before = lines.size();
        if (next < fields_.size() && fields_[next] == field)
          put_cell(*batch.column(static_cast<int>(next++)), row, lines);
        if (columns == 1 && lines.size() == before) lines += "\"\"";  // else a line without cells
      }
      lines += '\n';
    }
    return lines;
  }

  std::unique_ptr<::parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::vector<int>> leaves_;  ///< those of each column
  std::vector<int> fields_;               ///< the columns that are read
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

/// Calls work; what it throws goes to the taker.
template <class Work>
void guarded(const ParquetTaker& taker, const Work& work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    taker.fail(taker.to, "there is not enough memory for what it announces");
  } catch (const std::exception& error) {
    taker.fail(taker.to, error.what());
  } catch (...) {
    taker.fail(taker.to, "the Arrow library gave up");
  }
}

}  // namespace
}  // namespace mirrortrain::data

void* mirrortrain_open_parquet(const char* file, const ParquetTaker& taker) noexcept {
  using namespace mirrortrain::data;
  std::unique_ptr<Parquet> parquet;
  guarded(taker, [&] {
    auto opened = std::make_unique<Parquet>(file);
    const std::string columns = opened->columns().dump(-1, ' ', false, Json::error_handler_t::replace);
    taker.take(taker.to, columns.data(), columns.size());
    parquet = std::move(opened);
  });
  return parquet.release();
}

bool mirrortrain_read_parquet(void* parquet, const std::uint8_t* wanted, const ParquetTaker& taker) noexcept {
  using namespace mirrortrain::data;
  bool has_rows = false;
  guarded(taker, [&] {
    const auto lines = static_cast<Parquet*>(parquet)->next(wanted);
    if (!lines) return;
    taker.take(taker.to, lines->data(), lines->size());
    has_rows = true;
  });
  return has_rows;
}

void mirrortrain_close_parquet(void* parquet) noexcept { delete static_cast<mirrortrain::data::Parquet*>(parquet); }
