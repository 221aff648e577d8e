// The second-order oracle's block: the features that came first, standardised as they come, and for each slot a
// logistic regression on them. As many as `capacity` have a full covariance, and 15 times as many after them a variance
// each.
//
// Column 0 is the intercept. A feature that is not in an event has the value 0 there.
#pragma once

#include "column_row.h"
#include "key_columns.h"
#include "moments.h"
#include "newton_weights.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
class newton_block
{
public:
  static constexpr size_t NOT_HERE = key_columns::NOT_HERE;
  static constexpr uint64_t NO_KEY = UINT64_MAX;  // of the intercept, and of columns that are not used

  // With `memory` above 0, an event counts 1/e after as many others.
  newton_block(size_t capacity, double memory);

  // Which column a feature has. It is admitted while there is room.
  size_t column_of(uint64_t key) const { return _column_of.find(key); }
  size_t admit(uint64_t key);
  bool is_full() const { return _column_of.size() >= _most; }
  size_t columns() const { return _keys.size(); }
  const std::vector<uint64_t>& keys() const { return _keys; }

  // Where the places of features in VW's table have moved apart.
  void multiply_keys(uint64_t by, uint64_t over);

  // A row of raw values, standardised, for several slots: as long as padded(columns()).
  void standardise(const column_row& row, std::vector<double>& standardised) const;
  double score(size_t slot, const std::vector<double>& standardised) const;

  // The same for one slot, which costs little where most columns are absent: what these add to a score changes with
  // events, and not with rows.
  double score(size_t slot, const column_row& row);

  // An event in three steps: its features are admitted; its rows change the means and deviations; and, standardised
  // with them, one of them changes the weights. `rows` has the event's actions; they count as one row in all.
  void count_columns();
  void see(const column_row& row, double weight);
  void see(const moments& rows, double weight);

  // A step of a slot on a standardised row, towards an outcome.
  newton_step begin_step(size_t slot, const std::vector<double>& standardised);

  // What one event more leaves of those before.
  double share() const { return _share; }

  const moments& seen() const { return _seen; }
  const std::vector<double>& priors() const { return _priors; }
  const std::vector<newton_weights>& slots() const { return _slots; }

  // The same regression on raw values: the weight of a column, and what the centring adds to the intercept.
  double raw_weight(size_t slot, size_t column) const;

  // What a raw value in a column adds to a slot's score, compared with a value of zero; and what the score is where all
  // features are zero, but for the intercept's own weight. A score is the sum of these.
  double part_of_score(size_t slot, size_t column, double value) const;
  double score_of_zeros(size_t slot) const;

  // All of it, as bytes, and back. Throws std::invalid_argument where they are none of ours.
  std::string bytes() const;
  void set_bytes(const std::string& bytes);

private:
  friend class newton_merger;

  void refresh_scales();
  double standardised(size_t column, double value) const;
  double known_score_of_zeros(size_t slot);

  size_t _capacity;
  size_t _most;  // features in all
  double _share;
  std::vector<uint64_t> _keys;
  key_columns _column_of;
  std::vector<double> _priors;  // the precision of each column's weight before anything was seen
  moments _seen;
  std::vector<double> _centres;  // padded, as the next
  std::vector<double> _scales;
  std::vector<double> _zeros;  // what a standardised 0 is
  std::vector<newton_weights> _slots;
  std::vector<double> _scores_of_zeros;  // of the slots; NaN, or none, where it must be computed
  std::vector<double> _standardised;     // of the row at hand
};
}  // namespace vw_fastcb
