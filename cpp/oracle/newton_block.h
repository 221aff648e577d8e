// The second-order oracle's block: the features that came first, standardised as they come, and for each slot a
// logistic regression on them. As many as `capacity` have a full covariance, and 15 times as many after them a variance
// each.
//
// Column 0 is the intercept. A feature that is not in an event has the value 0 there.
#pragma once

#include "newton_weights.h"
#include "standard_columns.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vw_fastcb
{
class newton_block : public standard_columns
{
public:
  // With `memory` above 0, an event counts 1/e after as many others.
  newton_block(size_t capacity, double memory);

  // A feature is admitted while there is room.
  size_t admit(uint64_t key);

  double score(size_t slot, const std::vector<double>& standardised) const;

  // How unsure a slot is of that score, and of its intercept.
  double variance(size_t slot, const std::vector<double>& standardised) const;
  double variance_of_intercept(size_t slot) const;

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

  double known_score_of_zeros(size_t slot);

  size_t _capacity;
  std::vector<double> _priors;  // the precision of each column's weight before anything was seen
  std::vector<newton_weights> _slots;
  std::vector<double> _scores_of_zeros;  // of the slots; NaN, or none, where it must be computed
  std::vector<double> _standardised;     // of the row at hand
};
}  // namespace vw_fastcb
