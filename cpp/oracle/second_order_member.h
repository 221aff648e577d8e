// A member of the ensemble: logistic regressions of second order, one a slot, on a choice of the standardised columns
// that all members share.
#pragma once

#include "newton_weights.h"
#include "random_features.h"
#include "standard_columns.h"
#include "state_bytes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
struct member_kind
{
  const char* name;
  bool reads_products = false;  // what interactions make
  bool is_curved = false;       // also reads random features of its columns
  bool keeps_sizes = false;     // columns keep their deviations relative to each other
  double memory = 0.;           // after as many events one counts 1/e; 0 forgets nothing
  bool has_rest = false;        // the features for which there is no column are its own
};

// What standardised columns are to members.
struct shared_row
{
  const std::vector<double>& standardised;
  const std::vector<double>& sizes;  // the columns' deviations relative to each other
};

class second_order_member
{
public:
  // With `memory` above 0, an event counts 1/e after as many others, unless the kind forgets sooner.
  second_order_member(const member_kind& kind, size_t capacity, double memory);

  const member_kind& kind() const { return _kind; }
  size_t capacity() const { return _capacity; }

  // How many of the shared columns it knows, and the next one. Its random features depend on its name alone.
  size_t columns() const { return _columns; }
  void add_column(uint64_t name, bool is_product);

  // Between events: the columns that were added count.
  void count_columns();

  void take_row(const shared_row& row);

  // Of the row taken last, after so many events.
  double score(size_t slot, uint64_t time) const;
  double variance(size_t slot, uint64_t time) const;
  double variance_of_intercept(size_t slot, uint64_t time) const;
  newton_step begin_step(size_t slot, uint64_t time);

  // All but the columns, which come first.
  void write(byte_writer& out) const;
  void read(byte_reader& in);

private:
  struct slot_weights
  {
    newton_weights weights;
    uint64_t time = 0;  // when it learned last
  };

  double kept_since(uint64_t then, uint64_t time) const;

  member_kind _kind;
  size_t _capacity;
  double _share;
  size_t _first;              // place of the first column in a row, behind the intercept and random features
  size_t _next_full;          // place of the next column with a full covariance
  size_t _next_alone;         // and of the next with a variance of its own
  size_t _full_products = 0;  // products with a full covariance
  size_t _mains = 0;          // columns that are no products
  size_t _known = 0;          // columns in all
  // Shared columns that lie beside each other in a row, too.
  struct run
  {
    size_t column;
    size_t place;
    size_t count;
  };
  size_t _columns = 1;  // shared ones, the intercept included
  std::vector<run> _runs{{0, 0, 1}};
  std::vector<bool> _is_product;  // of places
  std::vector<uint32_t> _curved;  // the shared columns of which there are random features
  random_features _random;
  std::vector<double> _priors;  // of places
  std::vector<slot_weights> _slots;
  std::vector<double> _row;
  std::vector<double> _curved_row;
};
}  // namespace vw_fastcb
