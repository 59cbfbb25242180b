// Reading Parquet, in the module that is loaded for it.
#include "data/files/parquet_module.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/files/parquet_cells.h"

namespace mirrortrain::data {
namespace {

using Json = nlohmann::json;

/// The rows of some columns. Earlier versions of Arrow give the result through a pointer.
template <class Reader>
std::shared_ptr<arrow::RecordBatchReader> batches_of(Reader& reader, const std::vector<int>& groups,
                                                     const std::vector<int>& leaves) {
  if constexpr (requires { reader.GetRecordBatchReader(groups, leaves); }) {
    return taken(reader.GetRecordBatchReader(groups, leaves));
  } else {
    std::shared_ptr<arrow::RecordBatchReader> batches;
    require(reader.GetRecordBatchReader(groups, leaves, &batches));
    return batches;
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
    reading.set_page_checksum_verification(true);    // where pages have one
    require(builder.Open(taken(arrow::io::ReadableFile::Open(path)), reading));
    ::parquet::ArrowReaderProperties properties;
    // So many cells are text at a time, however many columns there are.
    const int columns = builder.raw_reader()->metadata()->num_columns();
    properties.set_batch_size(std::clamp<std::int64_t>(kCells / std::max(columns, 1), kFewestRows, kMostRows));
    properties.set_pre_buffer(false);
    properties.set_use_threads(false);
    properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);  // as nanoseconds reach from 1677 to 2262 alone
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
    return {{"rows", file.num_rows()},
            {"bytes", bytes},
            {"encrypted", file.is_encryption_algorithm_set()},
            {"columns", std::move(columns)}};
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
      batches_ = batches_of(*reader_, groups, leaves);
    }
    require(batches_->ReadNext(&batch));
    const std::int64_t announced = reader_->parquet_reader()->metadata()->num_rows();
    if (batch) rows_ += batch->num_rows();
    if (batch ? rows_ > announced : rows_ != announced) {
      throw std::runtime_error("it announces " + std::to_string(announced) + " rows, and its columns have " +
                               (batch ? "more" : std::to_string(rows_)));
    }
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
  std::int64_t rows_ = 0;  ///< that were read
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
