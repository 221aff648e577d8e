// The second-order oracle on VW's examples: --fastcb_oracle newton.
//
// The features that came first, as many as the block holds, are standardised (newton_block.h). All others are taken as
// they are and have a variance each: words and products, most of which an event lacks. Their weights lie in VW's own
// table, in gd's three numbers: the weight, the evidence for it, and the largest value. VW saves and prints them as
// gd's. Both make one step together, so that their sum does not go too far.
#pragma once

#include "newton_knowledge.h"

#include "vw/core/example.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vw_fastcb
{
class newton_regressor
{
public:
  newton_regressor(VW::workspace& all, size_t capacity, double memory);

  // The logits of as many slots as `logits` has, whose weights in VW's table are `step` apart.
  void score(VW::example& ec, size_t step, std::vector<float>& logits);

  // What a feature with a value adds to a slot's score, compared with a value of zero, by the index of its weight in
  // VW's table; and its weight for raw values. A score is the sum of these and of what it is where all features are
  // zero.
  struct part
  {
    double weight;
    double contribution;
  };
  part part_of_score(uint64_t index, double value, size_t slot, size_t step);
  uint64_t index_of_constant() const { return intercept_key() << _all->weights.stride_shift(); }
  double score_of_zeros(size_t slot) const { return _block.score_of_zeros(slot); }

  // One step of a slot towards the `outcome` in [0,1]. First the means and deviations learn from the event: from
  // this example or, where there were several since start_event, from those. Where the example was scored `just_now`,
  // with nothing in between, its features need not be read again.
  void start_event() { _event = moments(); }
  void see(VW::example& ec);
  void learn(VW::example& ec, size_t slot, size_t step, float outcome, bool just_now = false);

  // One step of every slot, each towards its own outcome. The example counts once in the means and deviations.
  void learn_every_slot(VW::example& ec, size_t step, const std::vector<float>& outcomes);

  // Puts the block's weights, as weights of raw values, into VW's table, for VW to print. They stay there until the
  // next call of anything else, or of this.
  void show_weights(size_t step);
  void hide_weights();

  // Whether features outside the block that an example has twice are one, with the sum of their values. Until version
  // 0.3 they were two.
  void sum_repeated(bool sums) { _sums_repeated = sums; }

  // How many weights there are outside the block.
  size_t weights_of_rest();
  void set_weights_of_rest(size_t count) { _weights_of_rest = count; }

  // Takes over what another one knows, whose workspace may have room for fewer slots.
  void continue_from(const newton_regressor& other);

  // What it knows, without VW's table.
  std::string bytes() const { return _block.bytes(); }
  void set_bytes(const std::string& bytes);

  // Merging: see newton_merger.h. Weights of slots are `step` apart. A difference from a base is the model, and knows
  // the base, to which alone it can be added.
  void merge(const std::vector<const newton_regressor*>& models, size_t step);
  void subtract(const newton_regressor& model, const newton_regressor& base);
  void add(const newton_regressor& base, const newton_regressor& difference);

  const newton_block& block() const { return _block; }

private:
  struct feature
  {
    uint64_t key;  // the number of its weight in VW's table, without the slot's offset
    float value;
  };

  // Reads the features of an example into _row, those of the block, and _rest.
  void read(VW::example& ec, bool admits);
  void find_features(VW::example& ec);
  void add_products(VW::example& ec);
  void find_columns(bool admits);
  void sum_repeated_features();
  void see_and_standardise(VW::example& ec, bool just_now = false);
  void step_of_slot(const VW::example& ec, size_t slot, size_t step, float outcome);
  static void add_feature(newton_regressor& self, float value, uint64_t index);
  uint64_t intercept_key() const;
  newton_knowledge knowledge() const;
  void take_over(newton_knowledge&& known);
  float* weights_of(uint64_t key, size_t slot, size_t step) const;
  void fill_table(size_t step, bool with_weights);
  double rest_of_score(size_t slot, size_t step) const;
  double rest_of_variance(size_t slot, size_t step);
  void rest_of_step(size_t slot, size_t step, double by, double evidence);

  VW::workspace* _all;
  bool _sums_repeated = true;
  std::optional<size_t> _weights_of_rest = 0;  // none where they must be counted
  newton_block _block;
  std::optional<newton_knowledge> _base;  // of a difference
  moments _event;
  size_t _shown_step = 0;       // 0 while the table is without the block's weights
  std::vector<uint64_t> _keys;  // of the features of an example
  std::vector<float> _values;
  std::vector<double> _row;
  std::vector<double> _raw_row;  // of the example that was scored last
  std::vector<feature> _rest;
  std::vector<size_t> _places;  // where in _rest a key is, plus one, by its hash
  // Where the features of the example before went: the next one often has the same.
  std::vector<uint64_t> _recent_keys;
  std::vector<size_t> _recent_columns;
  bool _recent_lack_columns = false;  // whether some have none
};
}  // namespace vw_fastcb
