// One event as regressors see it. Where actions are fixed it has one line, the context, and each action has weights of
// its own for it, a slot. Else each action has a line, and the features of the shared line belong to every action.
//
// Regressors take features in the form that suits them: as spans; as keys and values, products included, which several
// regressors may share; or as an example of VW's, for VW's own learners.
#pragma once

#include "feature_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace VW
{
class example;
}

namespace vw_fastcb
{
// Features as linear regressors add them up. A key is the number of a weight in VW's table, without a slot's offset.
struct keyed_features
{
  const uint64_t* keys;
  const float* values;
  size_t count;
  size_t products;        // of these, which come last
  uint64_t version;       // features of the same version are the same, whatever event they are of
  uint64_t keys_version;  // and so are keys: often values alone differ from event to event
  bool is_kept;           // until the event is another one
};

// How places in a VW example become keys.
struct key_layout
{
  uint64_t offset = 0;  // VW's ft_offset
  uint64_t mask = UINT64_MAX;
  uint32_t shift = 0;  // of the numbers that VW's table has for each weight

  uint64_t key_of(uint64_t index) const { return ((index + offset) & mask) >> shift; }
};

class event
{
public:
  event();
  virtual ~event() = default;

  size_t actions() const { return _actions; }
  bool has_slots() const { return _has_slots; }
  size_t lines() const { return _has_slots ? 1 : _actions; }

  // Whether spans, and products of pairs of different namespaces, are all that VW would see of the event.
  bool is_plain() const { return _is_plain; }
  const interaction_list& interactions() const { return *_interactions; }
  const key_layout& layout() const { return _layout; }
  const feature_spans& shared() const { return _shared; }
  virtual const feature_spans& own(size_t line) = 0;  // good until the next call

  // All features of a line, the shared ones included, in VW's order: good until the next call.
  keyed_features features(size_t line);

  // The weight of what is learned, and what a score starts from.
  virtual float weight(size_t line) const = 0;
  virtual float initial(size_t line) const = 0;

  // VW reports how many features an example has.
  virtual void note_products(size_t, size_t) {}

  // What was computed before for VW's progress or for the same event: the logits of the last prediction, if there were.
  void keep_logits(const std::vector<float>& logits) { _logits = logits; }
  const float* logit(size_t action) const { return action < _logits.size() ? &_logits[action] : nullptr; }

protected:
  // Begins anew. Features that were read of the event before are kept where they are the same: VW predicts an event
  // before it learns from it, and users hand in what they had to decide on.
  void start(size_t actions, bool has_slots);

  // The line as an example with all its features, while a whole_line lives.
  friend class whole_line;
  virtual VW::example& lend(size_t line) = 0;
  virtual void take_back(size_t line) = 0;

  struct feature_list
  {
    std::vector<uint64_t> keys;
    std::vector<float> values;
    size_t products = 0;
  };
  // The features of a line of which VW sees more than spans and pairs.
  virtual void read_as_vw_does(size_t line, feature_list& read) = 0;

  bool _is_plain = true;
  const interaction_list* _interactions = nullptr;
  key_layout _layout;
  feature_spans _shared;

private:
  enum class likeness
  {
    different,
    same_keys,
    same
  };

  // The features of spans, to recognise them.
  class span_copy
  {
  public:
    // Takes a copy of these, and tells how far they are the same as the last ones.
    likeness take(const feature_spans& spans);

  private:
    struct part
    {
      size_t count;
      unsigned char name_space;
    };
    std::vector<part> _parts;
    std::vector<uint64_t> _indices;
    std::vector<float> _values;
  };
  struct kept_line
  {
    feature_list read;
    span_copy own;
    uint64_t version = 0;  // of what was read; 0 for nothing
    uint64_t keys_version = 0;
    uint64_t common = 0;  // what all lines had in common then
    uint64_t common_keys = 0;
    uint64_t begun = 0;  // the event that it was last asked for
  };

  void refresh(size_t line, kept_line& kept);
  void note_common();
  void read_plain(const feature_spans& own, bool keys_are_known, feature_list& read) const;

  size_t _actions = 0;
  bool _has_slots = false;
  std::vector<float> _logits;
  std::vector<kept_line> _kept;
  size_t _features_kept = 0;
  feature_list _unkept;
  uint64_t _begun = 0;  // events so far
  uint64_t _versions;   // the last one
  // What all lines have in common, and which of them it is.
  uint64_t _common = 1;
  uint64_t _common_keys = 1;
  uint64_t _common_begun = 0;
  span_copy _common_shared;
  interaction_list _common_interactions;
  key_layout _common_layout;
};

// A line as VW's learners take it.
class whole_line
{
public:
  whole_line(event& of, size_t line) : example(of.lend(line)), _event(of), _line(line) {}
  ~whole_line() { _event.take_back(_line); }
  whole_line(const whole_line&) = delete;
  whole_line& operator=(const whole_line&) = delete;

  VW::example& example;

private:
  event& _event;
  size_t _line;
};
}  // namespace vw_fastcb
