"""Small Parquet files in tests/formats with what few tables have, and some that are damaged or encrypted.

Needs pandas and pyarrow."""

import base64
import datetime
import decimal
import pathlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption

folder = pathlib.Path(__file__).parents[2] / "tests" / "formats"

# Values of each type, of which the cells of a table are made.
moment = datetime.datetime(2024, 2, 29, 13, 5, 6, 123456)
values = pa.table({
    "whole": pa.array([100000.0, None, 2.0**53, 1e16]),
    "half": pa.array(np.array([0.1, 65504, 6e-8, -2], np.float16)),
    "decimal": pa.array([decimal.Decimal(text) for text in ("-0.01", "1.50", "0.00", "99.99")], pa.decimal128(4, 2)),
    "large": pa.array([2**64 - 1, 0, 2**53 + 1, 1], pa.uint64()),
    "view": pa.array(["red", "a word longer than twelve bytes", "", None], pa.string_view()),
    "number_word": pa.array([7, None, 8, 7]).dictionary_encode(),
    "zoned": pa.array([moment] * 4, pa.timestamp("us", "Europe/Berlin")),
    "time": pa.array([datetime.time(1, 2, 3)] * 4, pa.time32("s")),
    "took": pa.array([datetime.timedelta(seconds=1.5), None] * 2, pa.duration("ms")),
    "json": pa.array(['{"a":1}', None] * 2, pa.json_()),
    "flag": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 1], pa.int8())),
    "nothing": pa.nulls(4),
})
pq.write_table(values, folder / "values.parquet", row_group_size=3)
pq.write_table(pa.table({"time": pa.array([datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 0, 0, 0, 500000)])}),
               folder / "int96.parquet", use_deprecated_int96_timestamps=True)

# Words that lines of CSV would take for something else. Each page has a checksum, and nothing else notices a flipped bit.
words = pa.table({"sep=": ["sep=", "y\0z", "x", "y"] * 5, "label": ["label", "a", "b", "a"] * 5})
pq.write_table(words, folder / "words.parquet", compression="none", use_dictionary=False, write_page_checksum=True,
               row_group_size=8, write_statistics=False, store_schema=False)

# A footer that announces a row more than the columns have.
footer = bytes([0x16, 2 * 20, 0x19])
damaged = bytes([0x16, 2 * 21, 0x19])
whole = (folder / "words.parquet").read_bytes()
assert whole.count(footer) == 1
(folder / "rows.parquet").write_bytes(whole.replace(footer, damaged))

# The index of pandas, which counts nothing.
rows = pd.DataFrame({"f": [0.5, 1.5, -2.25, 0.75] * 10, "kind": ["a", "b", "b", "a"] * 10}, index=list(range(10)) * 4)
rows.to_parquet(folder / "index.parquet")


class Keys(encryption.KmsClient):
    def __init__(self, _):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, _):
        return base64.b64encode(key)

    def unwrap_key(self, key, _):
        return base64.b64decode(key)


factory = encryption.CryptoFactory(Keys)
for name, has_plain_footer in (("encrypted", False), ("encrypted-column", True)):
    properties = factory.file_encryption_properties(
        encryption.KmsConnectionConfig(),
        encryption.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["sep="]},
                                           plaintext_footer=has_plain_footer))
    with pq.ParquetWriter(folder / f"{name}.parquet", words.schema, encryption_properties=properties) as writer:
        writer.write_table(words)
