#include "newton_merger.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace vw_fastcb
{
class newton_merger::matrix
{
public:
  explicit matrix(size_t size) : _size(size), _numbers(size * size, 0.) {}
  double& operator()(size_t row, size_t column) { return _numbers[row * _size + column]; }
  double operator()(size_t row, size_t column) const { return _numbers[row * _size + column]; }
  size_t size() const { return _size; }

private:
  size_t _size;
  std::vector<double> _numbers;
};

// The inverse of a symmetric matrix with positive eigenvalues, by Cholesky's decomposition. A pivot that rounding has
// taken to nothing stays at what it was a trillionth of.
newton_merger::matrix newton_merger::inverse(matrix positive)
{
  const size_t n = positive.size();
  matrix lower(n);
  for (size_t j = 0; j < n; ++j)
  {
    double pivot = positive(j, j);
    for (size_t k = 0; k < j; ++k) { pivot -= lower(j, k) * lower(j, k); }
    lower(j, j) = std::sqrt(std::max(pivot, 1e-12 * positive(j, j)));
    for (size_t i = j + 1; i < n; ++i)
    {
      double sum = positive(i, j);
      for (size_t k = 0; k < j; ++k) { sum -= lower(i, k) * lower(j, k); }
      lower(i, j) = sum / lower(j, j);
    }
  }
  matrix root(n);  // the inverse of `lower`
  for (size_t j = 0; j < n; ++j)
  {
    root(j, j) = 1. / lower(j, j);
    for (size_t i = j + 1; i < n; ++i)
    {
      double sum = 0.;
      for (size_t k = j; k < i; ++k) { sum -= lower(i, k) * root(k, j); }
      root(i, j) = sum / lower(i, i);
    }
  }
  matrix found(n);
  for (size_t i = 0; i < n; ++i)
  {
    for (size_t j = 0; j <= i; ++j)
    {
      double sum = 0.;
      for (size_t k = i; k < n; ++k) { sum += root(k, i) * root(k, j); }
      found(i, j) = found(j, i) = sum;
    }
  }
  return found;
}

newton_merger::matrix newton_merger::information_of(const newton_weights& known)
{
  matrix covariance(known.full());
  for (size_t i = 0; i < known.full(); ++i)
  {
    for (size_t j = 0; j < known.full(); ++j) { covariance(i, j) = known.covariance(i, j); }
  }
  return inverse(covariance);
}

struct newton_merger::information
{
  matrix precision;  // of the columns that have a full covariance
  std::vector<double> precision_alone;
  std::vector<double> sums;

  double& own(size_t column) { return column < precision.size() ? precision(column, column) : precision_alone[column]; }
};

newton_knowledge newton_merger::merged(
    const std::vector<const newton_knowledge*>& models, const newton_knowledge* base, const table_layout& layout)
{
  newton_block to(models.front()->block._capacity, 0.);
  to._share = models.front()->block._share;
  std::vector<translation> parts;
  if (base != nullptr) { parts.push_back({&base->block, nullptr, &base->rest, nullptr, {}}); }
  size_t slots = 0;
  for (const auto* model : models)
  {
    const bool has_base = base != nullptr;
    parts.push_back(
        {&model->block, has_base ? &base->block : nullptr, &model->rest, has_base ? &base->rest : nullptr, {}});
    slots = std::max(slots, model->block._slots.size());
  }
  merge_columns(to, parts);
  merge_moments(to, parts);
  to._slots.resize(slots);
  for (size_t slot = 0; slot < slots; ++slot) { merge_slot(to, parts, slot, layout); }
  auto rest = merge_rest(to, parts, layout);
  return {std::move(to), std::move(rest)};
}

void newton_merger::merge_columns(newton_block& to, std::vector<translation>& parts)
{
  const size_t most = std::exchange(to._most, SIZE_MAX);  // nothing that was learned is left out
  for (const auto& part : parts)
  {
    for (const auto key : part.from->_keys)
    {
      if (key != newton_block::NO_KEY) { to.admit(key); }
    }
  }
  to._most = most;
  to.count_columns();
  for (auto& part : parts)
  {
    part.columns.assign(part.from->columns(), 0);
    for (size_t i = 1; i < part.from->columns(); ++i)
    {
      const auto key = part.from->_keys[i];
      if (key == newton_block::NO_KEY) { continue; }
      part.columns[i] = to.column_of(key);
      to._priors[part.columns[i]] = part.from->_priors[i];
    }
  }
}

void newton_merger::merge_moments(newton_block& to, const std::vector<translation>& parts)
{
  const auto placed = [&](const moments& seen, const std::vector<size_t>& columns)
  {
    moments found;
    found.resize(to.columns());
    found.weight = seen.weight;
    for (size_t i = 1; i < seen.columns(); ++i)
    {
      if (columns[i] != 0) { found.set_column(columns[i], seen.means()[i], seen.squares()[i]); }
    }
    return found;
  };
  for (const auto& part : parts)
  {
    const auto rows = placed(part.from->_seen, part.columns);
    to._seen.add(rows, rows.weight);
  }
  for (const auto& part : parts)
  {
    if (part.base != nullptr) { to._seen.remove(placed(part.base->_seen, part.columns)); }
  }
  to.refresh_scales();
}

void newton_merger::merge_slot(
    newton_block& to, const std::vector<translation>& parts, size_t slot, const table_layout& layout)
{
  auto& weights = to._slots[slot];
  information known{
      matrix(std::min(to.columns(), to._capacity + 1)), to._priors, std::vector<double>(to.columns(), 0.)};
  for (size_t i = 0; i < known.precision.size(); ++i) { known.precision(i, i) = to._priors[i]; }
  bool is_learned = false;
  for (const auto& part : parts)
  {
    if (slot >= part.from->_slots.size() || part.from->_slots[slot].columns() == 0) { continue; }
    add_information(part, to, slot, layout, known);
    is_learned = true;
  }
  if (!is_learned) { return; }
  weights.grow(to._priors, to._capacity + 1);
  const auto covariance = inverse(known.precision);
  for (size_t i = 0; i < covariance.size(); ++i)
  {
    double weight = 0.;
    for (size_t j = 0; j < covariance.size(); ++j) { weight += covariance(i, j) * known.sums[j]; }
    weights.set_weight(i, weight);
    for (size_t j = 0; j <= i; ++j) { weights.set_covariance(i, j, covariance(i, j)); }
  }
  for (size_t i = padded(covariance.size()); i < to.columns(); ++i)
  {
    const double own = std::max(known.precision_alone[i], to._priors[i]);
    weights.set_weight(i, known.sums[i] / own);
    weights.set_variance(i, 1. / own);
  }
}

// What a learner knows of a slot, and what its base knew.
//
// A learner that went on from a base has the base's columns first, and never translates what it knows while means and
// deviations move: so what the base knew is taken off as it was.
struct newton_merger::gained
{
  const newton_weights& known;
  const newton_weights& before;
  matrix information;
  matrix information_before;
  double intercept;
  double intercept_before;

  gained(const newton_weights& known, const newton_weights& before)
      : known(known)
      , before(before)
      , information(information_of(known))
      , information_before(information_of(before))
      , intercept(known.weight(0))
      , intercept_before(before.columns() > 0 ? before.weight(0) : 0.)
  {
  }

  double own(size_t column) const
  {
    return column < known.full() ? information(column, column) : 1. / known.variance(column);
  }
  double own_before(size_t column) const
  {
    if (column >= before.columns()) { return 0.; }
    return column < before.full() ? information_before(column, column) : 1. / before.variance(column);
  }
};

void newton_merger::add_information(
    const translation& part, const newton_block& to, size_t slot, const table_layout& layout, information& merged)
{
  const newton_weights nothing;
  const bool has_base = part.base != nullptr && slot < part.base->_slots.size();
  gained own(part.from->_slots[slot], has_base ? part.base->_slots[slot] : nothing);
  const auto r = add_columns_alone(part, to, own, merged);
  add_rest(part, to, slot, layout, merged, own.intercept, own.intercept_before);
  add_columns_together(part, own, r, merged);
}

// A weight w of this part is R u in terms of the merged one's, u: it changes with the deviation of its column, and what
// the mean of the column has moved is the intercept's. Columns that stand alone, here or there, are not part of R; what
// their means have moved is taken from the intercept at once.
newton_merger::matrix newton_merger::add_columns_alone(
    const translation& part, const newton_block& to, gained& own, information& merged)
{
  const auto& from = *part.from;
  const size_t count = own.known.full();
  matrix r(std::max(count, merged.precision.size()));
  r(0, 0) = 1.;
  for (size_t i = 1; i < own.known.columns(); ++i)
  {
    const auto column = part.columns[i];
    if (column == 0) { continue; }  // between the two kinds of columns
    const double moved = to._centres[column] - from._centres[i];
    const double stretch = from._scales[i] > 0. ? to._scales[column] / from._scales[i] : 0.;
    if (i < count && column < merged.precision.size())
    {
      r(0, column) = -moved * to._scales[column];
      r(i, column) = stretch;
      continue;
    }
    const bool was_known = i < own.before.columns();
    const double weight_before = was_known ? own.before.weight(i) : 0.;
    own.intercept += own.known.weight(i) * from._scales[i] * moved;
    own.intercept_before += weight_before * from._scales[i] * moved;
    const double precision = own.own(i);
    const double before = own.own_before(i);
    merged.own(column) += stretch * stretch * (precision - (was_known ? before : from._priors[i]));
    merged.sums[column] += stretch * (precision * own.known.weight(i) - before * weight_before);
  }
  return r;
}

void newton_merger::add_columns_together(
    const translation& part, const gained& own, const matrix& r, information& merged)
{
  auto& precision = merged.precision;
  const size_t count = own.known.full();
  matrix product(r.size());  // what was learned, beyond the prior or the base, times R
  for (size_t i = 0; i < count; ++i)
  {
    double sum = 0.;
    for (size_t j = 0; j < count; ++j)
    {
      sum += own.information(i, j) * (j == 0 ? own.intercept : own.known.weight(j));
      double learned = own.information(i, j);
      if (std::max(i, j) < own.before.full())
      {
        sum -= own.information_before(i, j) * (j == 0 ? own.intercept_before : own.before.weight(j));
        learned -= own.information_before(i, j);
      }
      else if (i == j) { learned -= part.from->_priors[i]; }
      for (size_t k = 0; k < precision.size(); ++k) { product(i, k) += learned * r(j, k); }
    }
    for (size_t k = 0; k < precision.size(); ++k) { merged.sums[k] += r(i, k) * sum; }
  }
  for (size_t i = 0; i < count; ++i)
  {
    for (size_t k = 0; k < precision.size(); ++k)
    {
      for (size_t l = 0; l < precision.size(); ++l) { precision(k, l) += r(i, k) * product(i, l); }
    }
  }
}

// Features that have a column now, and had none here. The weight stays what it was, as where a learner meets a larger
// value.
void newton_merger::add_rest(const translation& part, const newton_block& to, size_t slot, const table_layout& layout,
    information& known, double& intercept, double& intercept_before)
{
  for (size_t column = 1; column < to.columns(); ++column)
  {
    const auto key = to._keys[column];
    if (key == newton_block::NO_KEY || part.from->column_of(key) != newton_block::NOT_HERE) { continue; }
    const auto place = layout.place_of(key, slot);
    const auto add = [&](const rest_weight& weight, double sign, double& own_intercept)
    {
      own_intercept += weight.weight * to._centres[column];
      const double deviation = to._scales[column] > 0. ? 1. / to._scales[column] : 0.;
      const double stretch = weight.largest * to._scales[column];
      const double gained = stretch * stretch * weight.evidence;
      known.own(column) += sign * gained;
      known.sums[column] += sign * (to._priors[column] + gained) * weight.weight * deviation;
    };
    if (const auto* weight = part.rest->at(place)) { add(*weight, 1., intercept); }
    const auto* before = part.rest_of_base != nullptr ? part.rest_of_base->at(place) : nullptr;
    if (before != nullptr) { add(*before, -1., intercept_before); }
  }
}

rest_weights newton_merger::merge_rest(
    const newton_block& to, const std::vector<translation>& parts, const table_layout& layout)
{
  struct sums
  {
    double largest = 0.;
    double evidence = 0.;
    double pull = 0.;  // precision times weight
  };
  std::map<uint64_t, sums> merged;
  for (const auto& part : parts)
  {
    for (const auto& weight : *part.rest)
    {
      auto& largest = merged[weight.place].largest;
      largest = std::max(largest, weight.largest);
    }
  }
  for (const auto key : to._keys)
  {
    for (size_t slot = 0; key != newton_block::NO_KEY && slot < to._slots.size(); ++slot)
    {
      merged.erase(layout.place_of(key, slot));  // the block has it
    }
  }
  const auto add = [&](const rest_weight& weight, double sign)
  {
    const auto known = merged.find(weight.place);
    if (known == merged.end()) { return; }
    const double evidence = weight.evidence_at(known->second.largest);
    known->second.evidence += sign * evidence;
    known->second.pull += sign * (PRIOR_OF_REST + evidence) * weight.weight;
  };
  for (const auto& part : parts)
  {
    for (const auto& weight : *part.rest) { add(weight, 1.); }
    if (part.rest_of_base == nullptr) { continue; }
    for (const auto& weight : *part.rest_of_base) { add(weight, -1.); }
  }
  rest_weights rest;
  for (const auto& [place, known] : merged)
  {
    const double evidence = std::max(0., known.evidence);
    rest.add({place, known.pull / (PRIOR_OF_REST + evidence), evidence, known.largest});
  }
  return rest;
}
}  // namespace vw_fastcb
