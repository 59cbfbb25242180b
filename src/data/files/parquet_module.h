#pragma once

#include <cstddef>
#include <cstdint>

// What the module libmirrortrain_parquet.so has. It alone is linked with Arrow, so that programs that read no Parquet
// do not load it. Neither memory nor exceptions pass from one to the other.

/// Gets bytes that are valid for the call, or what went wrong.
struct ParquetTaker {
  void* to;
  void (*take)(void* to, const char* bytes, std::size_t size);
  void (*fail)(void* to, const char* error);
};

extern "C" {

/// Opens a file. Gives its columns as JSON:
/// {"rows": ..., "bytes": ..., "encrypted": ..., "columns": [{"name": ..., "why": ...}, ...]},
/// with the bytes of all pages when they are not compressed, whether some columns are encrypted, and why a column
/// cannot be cells of a table, "" if it can. Null if `fail` was called.
__attribute__((visibility("default"))) void* mirrortrain_open_parquet(const char* file,
                                                                      const ParquetTaker& taker) noexcept;
/// Gives the next rows as lines of CSV, in order. `wanted`: for each column whether its cells are; those of others are
/// empty. Returns false at the end, and where `fail` was called.
__attribute__((visibility("default"))) bool mirrortrain_read_parquet(void* parquet, const std::uint8_t* wanted,
                                                                     const ParquetTaker& taker) noexcept;
__attribute__((visibility("default"))) void mirrortrain_close_parquet(void* parquet) noexcept;
}
