// The columns of second-order oracles: features by their keys, in the order in which they came, and what makes their
// values standardised ones.
//
// Column 0 is the intercept. A feature that is not in an event has the value 0 there.
#pragma once

#include "column_row.h"
#include "key_columns.h"
#include "moments.h"
#include "state_bytes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class standard_columns
{
public:
  static constexpr size_t NOT_HERE = key_columns::NOT_HERE;
  static constexpr uint64_t NO_KEY = UINT64_MAX;  // of the intercept, and of columns that are not used

  // Room for so many features. With `memory` above 0, an event counts 1/e after as many others.
  standard_columns(size_t most, double memory);

  // Which column a feature has. It is admitted while there is room.
  size_t column_of(uint64_t key) const { return _column_of.find(key); }
  size_t admit(uint64_t key);
  bool is_full() const { return _column_of.size() >= _most; }
  size_t features() const { return _column_of.size(); }
  size_t columns() const { return _keys.size(); }
  const std::vector<uint64_t>& keys() const { return _keys; }

  // Where the places of features in VW's table have moved apart.
  void multiply_keys(uint64_t by, uint64_t over);

  // An event in two steps: its features are admitted; its rows change the means and deviations. `rows` has the event's
  // actions; they count as one row in all.
  void count_columns();
  void see(const column_row& row, double weight);
  void see(const moments& rows, double weight);

  // A row of raw values, standardised: as long as padded(columns()).
  void standardise(const column_row& row, std::vector<double>& standardised) const;
  double standardised(size_t column, double value) const;
  const std::vector<double>& zeros() const { return _zeros; }  // what a row without values is, standardised

  // What one event more leaves of those before.
  double share() const { return _share; }

  const moments& seen() const { return _seen; }
  const std::vector<double>& scales() const { return _scales; }
  const std::vector<double>& centres() const { return _centres; }

  // Keys, and the means and squares of their columns, as bytes and back. Throws std::invalid_argument where they are
  // none of ours.
  void write(byte_writer& out) const;
  void read(byte_reader& in);

protected:
  void refresh_scales();

  size_t _most;
  double _share;
  std::vector<uint64_t> _keys;
  key_columns _column_of;
  moments _seen;
  std::vector<double> _centres;  // padded, as the next two
  std::vector<double> _scales;
  std::vector<double> _zeros;
};
}  // namespace vw_fastcb
