#include "multiclass_pass.h"

#include "lean_workspace.h"
#include "learner/clock.h"
#include "learner/plain_features.h"
#include "reduction/explorer.h"
#include "reduction/fastcb.h"
#include "reduction/text_event.h"

#include "vw/common/hash.h"
#include "vw/common/random_details.h"
#include "vw/common/vw_throw.h"
#include "vw/core/action_score.h"
#include "vw/core/cb.h"
#include "vw/core/constant.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/multi_ex.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"
#include "vw/explore/explore.h"

#include <algorithm>
#include <memory>

namespace vw_fastcb
{
namespace
{
constexpr size_t ROWS_FETCHED = 16;            // at a time; what they take stays in the nearest cache
constexpr VW::namespace_index NAMELESS = ' ';  // where text without a namespace goes

// Plays rounds; each kind of learner has its own.
class player
{
public:
  explicit player(VW::workspace& all) : _all(all) {}
  virtual ~player() = default;

  // Names a class for the row, from 0, and learns from the feedback.
  virtual uint32_t play(const multiclass_rows& data, size_t row) = 0;

protected:
  void fill(VW::example& ec, const feature_rows& features, size_t row)
  {
    VW::empty_example(_all, ec);
    auto& space = ec.feature_space[NAMELESS];
    features.for_each(row, [&](uint64_t index, float value) { space.push_back(value, index); });
    if (!space.empty()) { ec.indices.push_back(NAMELESS); }
    VW::setup_example(_all, &ec);
    ec.test_only = false;
  }

  VW::workspace& _all;
};

// A learner of multiclass labels; cbify is one, too.
class labels_seen : public player
{
public:
  using player::player;

  uint32_t play(const multiclass_rows& data, size_t row) override
  {
    _ec.l.multi = {static_cast<uint32_t>(data.labels[row]) + 1, 1.f};
    fill(_ec, data.features, row);
    _all.learn(_ec);
    const auto named = _ec.pred.multiclass;
    _all.l->update_stats(_all, _ec);
    return named - 1;
  }

private:
  VW::example _ec;
};

// What cbify does, without its copying. The seeds of its draws count the rounds.
class bandit : public player
{
public:
  explicit bandit(VW::workspace& all) : player(all), _plain(is_plain(all)) {}

protected:
  // As player::fill, but where no flag changes features, the example of the row before is changed to this one's: VW
  // would take longer to set it up than to learn from it.
  void refill(VW::example& ec, const feature_rows& features, size_t row)
  {
    if (!_plain || ec.indices.empty())
    {
      fill(ec, features, row);
      return;
    }
    auto& space = ec.feature_space[NAMELESS];
    space.values.resize(features.width(row));
    space.indices.resize(features.width(row));
    const uint64_t room = room_per_feature(_all);
    float* const values = space.values.begin();
    uint64_t* const indices = space.indices.begin();
    size_t count = 0;
    float squares = 0.f;
    // A zero is overwritten by the next value: no branch, which half the zeros of an image would mislead.
    features.for_each_or_zero(row,
        [=, &count, &squares](uint64_t index, float value)
        {
          values[count] = value;
          indices[count] = index * room;
          count += value != 0.f ? 1 : 0;
          squares += value * value;
        });
    space.values.resize(count);
    space.indices.resize(count);
    space.sum_feat_sq = squares;
    ec.indices.clear();
    if (count > 0) { ec.indices.push_back(NAMELESS); }
    ec.indices.push_back(VW::details::CONSTANT_NAMESPACE);
    ec.num_features = count + 1;
    ec.reset_total_sum_feat_sq();
    ec.partial_prediction = 0.f;
    ec.loss = 0.f;
  }

  // The place of the drawn action among scores, which become probabilities that sum to 1.
  uint32_t draw(VW::action_scores& scores)
  {
    uint32_t chosen = 0;
    const auto seed = next_seed();
    if (VW::explore::sample_after_normalizing(seed, VW::begin_scores(scores), VW::end_scores(scores), chosen) != 0)
    {
      THROW("no action can be drawn from nothing.");
    }
    return chosen;
  }

  uint64_t next_seed() { return _first_seed + _rounds++; }

  static float cost(const multiclass_rows& data, size_t row, uint32_t action)
  {
    return data.labels[row] == static_cast<int64_t>(action) ? 0.f : 1.f;
  }

private:
  static bool is_plain(const VW::workspace& all)
  {
    return keeps_features(all) && all.feature_tweaks_config.add_constant;
  }

  const bool _plain;
  const uint64_t _first_seed = VW::uniform_hash("vw", 2, 0);
  uint64_t _rounds = 0;
};

// --cb_explore K --fastcb: straight to the oracle.
class fastcb_of_fixed_actions : public bandit
{
public:
  fastcb_of_fixed_actions(VW::workspace& all, uint32_t actions)
      : bandit(all)
      , _explorer(*explorer::of(all))
      , _event(all)
      , _actions(actions)
      , _pmf(actions)
      , _sums(actions)
  {
  }

  uint32_t play(const multiclass_rows& data, size_t row) override
  {
    refill(_ec, data.features, row);
    _event.start(_ec, _actions);
    _explorer.score(_event, _scores);
    _explorer.allocate(_scores, _pmf);
    const auto action = draw_from_pmf();
    _explorer.learn(_event, action, cost(data, row, action));
    advance_clock(_all, 1.f);
    return action;
  }

private:
  // The action that VW would draw with the same seed. Nobody asks for the normalized probabilities.
  uint32_t draw_from_pmf()
  {
    float total = 0.f;
    for (size_t a = 0; a < _pmf.size(); ++a) { _sums[a] = total += static_cast<float>(_pmf[a]); }
    const float drawn = total * VW::details::merand48_noadvance(next_seed());
    // The sums ascend, so counting finds the first that is above, without a branch that nobody could foresee.
    const auto below = std::count_if(_sums.begin(), _sums.end(), [drawn](float sum) { return !(sum > drawn); });
    return std::min(static_cast<uint32_t>(below), static_cast<uint32_t>(_sums.size()) - 1);
  }

  explorer& _explorer;
  text_event _event;
  VW::example _ec;
  size_t _actions;
  scores _scores;
  std::vector<double> _pmf;
  std::vector<float> _sums;  // of the probabilities up to each action
};

// --cb_explore K --fastcb --fastcb_oracle newton, with the label seen: names the class with the lowest predicted cost,
// of equal ones the first, then learns what every class costs.
class newton_with_labels : public bandit
{
public:
  newton_with_labels(VW::workspace& all, uint32_t classes)
      : bandit(all)
      , _explorer(*explorer::of(all))
      , _event(all)
      , _costs(classes)
  {
  }

  uint32_t play(const multiclass_rows& data, size_t row) override
  {
    refill(_ec, data.features, row);
    _event.start(_ec, _costs.size());
    _explorer.score(_event, _scores);
    const auto& logits = _scores.logits;
    const auto best = std::min_element(
        logits.begin(), logits.end(), [this](float one, float other) { return _explorer.better(one, other); });
    for (size_t a = 0; a < _costs.size(); ++a) { _costs[a] = cost(data, row, static_cast<uint32_t>(a)); }
    _explorer.learn_all(_event, _costs);
    advance_clock(_all, 1.f);
    return static_cast<uint32_t>(best - logits.begin());
  }

private:
  explorer& _explorer;
  text_event _event;
  VW::example _ec;
  scores _scores;
  std::vector<float> _costs;
};

// --cb_explore K with one of VW's own algorithms: one example a round.
class bandit_of_fixed_actions : public bandit
{
public:
  using bandit::bandit;

  uint32_t play(const multiclass_rows& data, size_t row) override
  {
    _ec.l.cb.reset_to_default();
    _ec.pred.a_s.clear();
    fill(_ec, data.features, row);
    _all.l->predict(_ec);
    const auto action = draw(_ec.pred.a_s);
    _ec.l.cb.costs.push_back({cost(data, row, action), action + 1, _ec.pred.a_s[action].score});
    _all.l->learn(_ec);
    advance_clock(_all, 1.f);
    return action;
  }

private:
  VW::example _ec;
};

// --cb_explore_adf: every action has the row's features, at weights of its own.
class bandit_of_copies : public bandit
{
public:
  bandit_of_copies(VW::workspace& all, uint32_t actions)
      : bandit(all)
      , _copies(actions)
      , _width(all.l->feature_width_below)
  {
    for (auto& copy : _copies) { _event.push_back(&copy); }
    // cbify clears as many low bits of an index as the actions' offsets need, and one bit more for powers of two.
    for (uint64_t total = actions * _width; total > 0; total >>= 1) { _low_bits = (_low_bits << 1) | 1; }
  }

  uint32_t play(const multiclass_rows& data, size_t row) override
  {
    refill(_row, data.features, row);
    for (size_t a = 0; a < _copies.size(); ++a)
    {
      _copies[a].l.cb.reset_to_default();
      if (_rounds_played == 0) { VW::copy_example_data(&_copies[a], &_row); }
      copy_features(_copies[a], a);
    }
    ++_rounds_played;
    _all.l->predict(_event);
    const auto& chosen = _copies[0].pred.a_s[draw(_copies[0].pred.a_s)];
    const auto action = chosen.action;
    _copies[action].l.cb.costs.push_back({cost(data, row, action), action + 1, chosen.score});
    _all.l->learn(_event);
    advance_clock(_all, 1.f);
    return action;
  }

private:
  void copy_features(VW::example& copy, size_t action)
  {
    const uint64_t mask = _all.weights.mask();
    const uint64_t offset = action * _width;
    copy.indices = _row.indices;
    for (const auto ns : _row.indices)
    {
      const auto& from = _row.feature_space[ns];
      auto& to = copy.feature_space[ns];
      to.values = from.values;
      to.sum_feat_sq = from.sum_feat_sq;
      to.indices.resize(from.indices.size());
      std::transform(from.indices.begin(), from.indices.end(), to.indices.begin(),
          [=, low = _low_bits](uint64_t index) { return ((index & ~low) + offset) & mask; });
    }
    copy.num_features = _row.num_features;
    copy.reset_total_sum_feat_sq();
  }

  std::vector<VW::example> _copies;
  uint64_t _width;
  uint64_t _low_bits = 0;
  uint64_t _rounds_played = 0;
  VW::example _row;
  VW::multi_ex _event;
};

bool has_fixed_actions_of_fastcb(const VW::workspace& all)
{
  const auto* below = all.l->get_base_learner();  // of the checks, where FastCB is used
  return below != nullptr && below->get_name() == "cb_explore_fastcb";
}

std::unique_ptr<player> player_with_labels(VW::workspace& all, uint32_t classes)
{
  if (!has_fixed_actions_of_fastcb(all) || !explorer::of(all)->kind().knows_weights)
  {
    THROW(
        "only the second-order oracle can be shown every label in place of a cost: expected --cb_explore {K} "
        "--fastcb --fastcb_oracle newton. For VW's own regressor there is --oaa {K}.");
  }
  return std::make_unique<newton_with_labels>(all, classes);
}

std::unique_ptr<player> player_for(VW::workspace& all, uint32_t classes)
{
  const auto label = all.l->get_input_label_type();
  const auto prediction = all.l->get_output_prediction_type();
  if (label == VW::label_type_t::MULTICLASS && prediction == VW::prediction_type_t::MULTICLASS)
  {
    return std::make_unique<labels_seen>(all);
  }
  if (label == VW::label_type_t::CB && prediction == VW::prediction_type_t::ACTION_PROBS)
  {
    if (all.l->is_multiline()) { return std::make_unique<bandit_of_copies>(all, classes); }
    if (has_fixed_actions_of_fastcb(all)) { return std::make_unique<fastcb_of_fixed_actions>(all, classes); }
    return std::make_unique<bandit_of_fixed_actions>(all);
  }
  THROW("the flags make a learner of "
        << VW::to_string(label) << " labels that predicts " << VW::to_string(prediction)
        << "; expected one that names a class, such as --cbify {K} --cb_explore_adf or --oaa {K}.");
}
}  // namespace

void run_multiclass_pass(const std::vector<std::string>& arguments, const multiclass_rows& data, uint32_t classes,
    feedback shown, uint8_t* losses)
{
  const auto all = make_lean_workspace(arguments);
  const auto learner = shown == feedback::EVERY_LABEL ? player_with_labels(*all, classes) : player_for(*all, classes);
  for (size_t start = 0; start < data.count; start += ROWS_FETCHED)
  {
    const size_t end = std::min(start + ROWS_FETCHED, data.count);
    for (size_t i = start; i < end; ++i) { data.fetch(static_cast<size_t>(data.order[i])); }
    for (size_t i = start; i < end; ++i)
    {
      const auto row = static_cast<size_t>(data.order[i]);
      losses[i] = learner->play(data, row) == static_cast<uint32_t>(data.labels[row]) ? 0 : 1;
    }
  }
}
}  // namespace vw_fastcb
