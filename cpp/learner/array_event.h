// An event whose features are rows of arrays. Regressors that read spans read the rows; one VW example is filled with
// one line after another for those that do not, so memory does not grow with the number of actions.
#pragma once

#include "feature_rows.h"
#include "oracle/vw_event.h"

#include "vw/core/example.h"

#include <cstdint>
#include <vector>

namespace vw_fastcb
{
// The namespaces of contexts and of actions with features.
constexpr unsigned char CONTEXT_NAMESPACE = 'x';
constexpr unsigned char ACTION_NAMESPACE = 'a';

class array_event : public vw_event
{
public:
  explicit array_event(VW::workspace& all);

  // Event `row` of the arrays. Where `fixed_actions` is 0, actions have features.
  void start(const feature_rows& contexts, const action_sets& actions, size_t row, uint32_t fixed_actions);

  // What is learned from it counts as so many events.
  void set_weight(float weight) { _weight = weight; }

  // The context, or the chosen action, with features named by their namespace and place, such as x17. What comes of
  // labels is refused as in text.
  std::vector<explained_term> named_terms(size_t line);

  const feature_spans& own(size_t line) override;
  float weight(size_t) const override { return _weight; }
  float initial(size_t) const override { return 0.f; }

private:
  VW::example& lend(size_t line) override;
  void take_back(size_t line) override;

  // One row as spans, in memory that is used again for the next one.
  class row_buffer
  {
  public:
    void start(const feature_rows& rows, uint64_t room, unsigned char name_space);
    feature_span of(size_t row);

  private:
    feature_rows _rows;
    uint64_t _room = 1;
    unsigned char _name_space = 0;
    std::vector<float> _values;
    std::vector<uint64_t> _indices;
  };

  void fill(VW::example& ec, const feature_rows& rows, size_t row, unsigned char name_space);
  void name_features(VW::example& ec, const feature_rows& rows, size_t row, unsigned char name_space) const;
  void read_spans(const VW::example& ec, feature_spans& spans, bool with_constant) const;

  const bool _reads_rows;  // VW would not do anything with features but make room between them
  feature_rows _contexts;
  action_sets _actions;
  size_t _row = 0;
  uint32_t _fixed_actions = 0;
  float _weight = 1.f;
  row_buffer _context_row;
  row_buffer _action_row;
  feature_spans _own;
  VW::example _context;
  VW::example _action;          // the one at hand
  VW::example _constant_alone;  // no features but the constant
  bool _has_context = false;
  bool _names_features = false;
};
}  // namespace vw_fastcb
