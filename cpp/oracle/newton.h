// The second-order oracle: --fastcb_oracle newton. A logistic regression for each action, or one for all actions that
// have features, that knows how sure it is of its weights.
//
// The features that came first, as many as the block holds, are standardised (newton_block.h). All others are taken as
// they are and have a variance each (table_weights.h). Both make one step together, so that their sum does not go too
// far.
#pragma once

#include "newton_block.h"
#include "newton_knowledge.h"
#include "regressor.h"
#include "table_weights.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace vw_fastcb
{
class newton : public regressor
{
public:
  // With `memory` above 0, an event counts 1/e after as many others.
  newton(std::function<weight_table()> table, size_t capacity, double memory);

  void score(event& of, std::vector<float>& logits) override;
  bool has_deviations() const override { return true; }
  void score_limits(event& of, double shift, std::vector<float>& logits, std::vector<float>& limits) override;

  // First the means and deviations learn from the event, from all its actions.
  double learn(event& of, size_t action, float outcome) override;
  void learn_all(event& of, const std::vector<float>& outcomes) override;
  bool reads_all_actions() const override { return true; }

  void explain(std::vector<explained_term>& terms, size_t slots) override;

  // With epochs, the regret grows with their number.
  double weights() override;

  regressor_state state() override;
  void set_state(const regressor_state& state) override;
  void use_arithmetic(uint64_t arithmetic) override { _arithmetic = arithmetic; }
  void continue_from(const regressor& other) override;

  // See newton_merger.h. A difference from a base is the model, and knows the base, to which alone it can be added.
  bool merges_table() const override { return true; }
  void merge(const std::vector<const regressor*>& models) override;
  void become_difference(const regressor& model, const regressor& base) override;
  void become_sum(const regressor& base, const regressor& difference) override;

  // The block's weights as weights of raw values. They stay in VW's table until the next call of anything else.
  void show_weights() override;
  void hide_weights() override;

private:
  // Where the weights of a line's features are: at which place among them those of the block, and which column each
  // has, and those of the rest.
  struct resolved_line
  {
    std::vector<uint32_t> in_block;
    std::vector<uint32_t> columns;
    std::vector<uint32_t> in_rest;
    bool is_distinct = false;   // no two features have the same column
    uint64_t keys_version = 0;  // of the event's features
    size_t block_columns = 0;   // that there were then
  };

  const resolved_line& resolve(const keyed_features& features, size_t line, bool admits);
  void resolve_anew(const keyed_features& features, bool admits, resolved_line& line);

  // The row of a line in the block.
  void fill_row(const keyed_features& features, const resolved_line& line);
  double score_of_rest(const keyed_features& features, const resolved_line& line, size_t slot) const;
  void forget_lines() { _lines.clear(); }

  // What comes before a step: the means and deviations learn from the event, and the chosen line is at hand.
  void see(event& of, size_t chosen);
  double take_step(const event& of, size_t line, size_t slot, float outcome);
  newton_knowledge knowledge() const { return {_block, _rest.knowledge()}; }
  void take_over(newton_knowledge&& known);
  void fill_table(bool with_weights);

  newton_block _block;
  table_weights _rest;
  uint64_t _arithmetic = 1;
  std::optional<newton_knowledge> _base;  // of a difference
  bool _shows_weights = false;
  std::vector<resolved_line> _lines;  // of the event at hand, as far as it keeps its features
  resolved_line _unkept;
  column_row _row;  // kept from event to event, as are the next two
  row_moments _rows;
  std::vector<double> _standardised;
};
}  // namespace vw_fastcb
