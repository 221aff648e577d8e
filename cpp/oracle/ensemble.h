// --fastcb_oracle ensemble: the paper's aggregating rule over members that fail in different places. Regressions of
// second order see different columns at different sizes; one of them sees curves
// (second_order_member.h, ensemble.cc); beside them stands VW's own gradient descent. All read an event once.
#pragma once

#include "mixture.h"
#include "regressor.h"
#include "second_order_member.h"
#include "standard_columns.h"
#include "table_weights.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
class ensemble : public regressor
{
public:
  // `members` are names with commas between them. Without products, members that differ by them alone are one.
  // With `memory` above 0, an event counts 1/e after as many others.
  ensemble(std::function<weight_table()> vw_table, std::unique_ptr<regressor> descent, const std::string& members,
      bool has_products, size_t capacity, double memory);

  void score(event& of, std::vector<float>& logits) override;
  bool has_deviations() const override { return true; }
  void score_limits(event& of, double shift, std::vector<float>& logits, std::vector<float>& limits) override;

  // First the means and deviations learn from the event: from all its actions, or where there are many from some.
  double learn(event& of, size_t action, float outcome) override;
  bool reads_all_actions() const override { return true; }

  void explain(std::vector<explained_term>& terms, size_t slots) override;
  std::vector<member_weight> members() const override;

  regressor_state state() override;
  void set_state(const regressor_state& state) override;
  void continue_from(const regressor& other) override;

  bool merges_table() const override { return true; }
  void merge(const std::vector<const regressor*>& models) override;
  void become_difference(const regressor& model, const regressor& base) override;
  void become_sum(const regressor& base, const regressor& difference) override;

private:
  weight_table own_table();
  void read(const keyed_features& features, bool admits);
  void add_new_columns();
  void note_column(bool is_product);
  void measure_sizes();
  void take_row();
  void see(event& of, size_t chosen);
  double score_of_rest(const keyed_features& features, size_t slot) const;
  void ask_members(const keyed_features& features, size_t slot, double initial, double logit_of_gd);
  double deviation(const keyed_features& features, size_t slot) const;
  double logit_of(const keyed_features& features, size_t slot, double logit_of_gd);
  void write_table(byte_writer& out) const;
  void read_table(byte_reader& in);

  std::function<weight_table()> _vw_table;
  // Of weights for which there is no column, laid out as VW's. Memory that nobody has used takes none.
  struct deleter
  {
    void operator()(float* numbers) const { std::free(numbers); }
  };
  std::unique_ptr<float, deleter> _numbers;
  table_weights _rest;
  double _memory;
  double _share;
  standard_columns _columns;
  uint64_t _keys_per_name = 1;    // of the table, whose width VW says only when a model is loaded
  std::vector<bool> _is_product;  // of columns
  std::vector<uint32_t> _mains;   // the columns that are no products, but for the intercept
  size_t _products = 0;
  size_t _most_products;
  std::vector<second_order_member> _members;
  std::unique_ptr<regressor> _gd;  // null where it is no member
  mixture _mixture;
  uint64_t _time = 0;  // events learned

  // Of the row at hand, kept from event to event.
  column_row _row;
  row_moments _rows;
  std::vector<uint32_t> _in_rest;
  std::vector<double> _standardised;
  std::vector<double> _sizes;
  std::vector<float> _gd_logits;
  std::vector<double> _logits;  // of the members, those of gd last
  std::vector<float> _no_limits;
  struct placed_value
  {
    uint32_t column;
    double value;
  };
  std::vector<placed_value> _in_columns;
};
}  // namespace vw_fastcb
