#include "feature_rows.h"

#include <stdexcept>

namespace vw_fastcb
{
namespace
{
// Calls work(row, values, distance between two, columns) with each row of a dense matrix.
template <typename Work>
struct on_dense_rows
{
  size_t rows;
  Work work;

  template <typename Value>
  void operator()(const dense_form<Value>& form) const
  {
    for (size_t row = 0; row < rows; ++row)
    {
      form.with_values(row,
          [&](const Value* values, auto apart) { work(row, values, apart, static_cast<ptrdiff_t>(form.columns)); });
    }
  }
  template <typename Value, typename Places>
  void operator()(const sparse_form<Value, Places>&) const
  {
    throw std::logic_error("only dense rows lie one after another");
  }
};

template <typename Work>
on_dense_rows<Work> with_dense_rows(size_t rows, Work work)
{
  return {rows, work};
}

int32_t is_infinite(float x) { return x - x == 0.f ? 0 : 1; }  // infinite and NaN minus itself is NaN

struct finds_infinite
{
  size_t rows;

  template <typename Value>
  bool operator()(const dense_form<Value>& form) const
  {
    for (size_t row = 0; row < rows; ++row)
    {
      int32_t any = 0;  // as wide as a float: several are compared at once
      form.with_values(row,
          [&](const Value* values, auto apart)
          {
            const auto columns = static_cast<ptrdiff_t>(form.columns);
            for (ptrdiff_t i = 0; i < columns; ++i) { any |= is_infinite(static_cast<float>(values[i * apart])); }
          });
      if (any != 0) { return true; }
    }
    return false;
  }
  template <typename Value, typename Places>
  bool operator()(const sparse_form<Value, Places>& form) const
  {
    int32_t any = 0;
    for (size_t row = 0; row < rows; ++row)
    {
      form.visit(row, [&any](uint64_t, float value) { any |= is_infinite(value); });
    }
    return any != 0;
  }
};
}  // namespace

bool feature_rows::is_finite() const { return !std::visit(finds_infinite{_rows}, _form); }

void feature_rows::copy_to(float* out) const
{
  const auto copy = [out](size_t row, const auto* values, auto apart, ptrdiff_t columns)
  {
    float* const to = out + static_cast<ptrdiff_t>(row) * columns;
    for (ptrdiff_t i = 0; i < columns; ++i) { to[i] = static_cast<float>(values[i * apart]); }
  };
  std::visit(with_dense_rows(_rows, copy), _form);
}

bool feature_rows::equals(const float* others) const
{
  int32_t differ = 0;
  const auto compare = [&differ, others](size_t row, const auto* values, auto apart, ptrdiff_t columns)
  {
    const float* const other = others + static_cast<ptrdiff_t>(row) * columns;
    for (ptrdiff_t i = 0; i < columns; ++i) { differ |= static_cast<float>(values[i * apart]) == other[i] ? 0 : 1; }
  };
  std::visit(with_dense_rows(_rows, compare), _form);
  return differ == 0;
}
}  // namespace vw_fastcb
