// Reads whole events, checks each before VW may see it, and gives every example of a refused one back as new. Stands in
// for VW's own reading functions, which it calls.
#pragma once

#include "event_rules.h"
#include "line_source.h"

#include "vw/common/string_view.h"
#include "vw/core/global_data.h"
#include "vw/core/input_parser.h"
#include "vw/core/io_buf.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace vw_fastcb
{
class event_reader : public VW::details::input_parser
{
public:
  // Takes over the reading of a workspace whose source is open.
  static event_reader* install(VW::workspace& all, const event_rules& rules, bool skips_bad_events);

  // The reader of a workspace, nullptr where none was installed.
  static event_reader* of(const VW::workspace& all);

  // The next event of the input; false at its end.
  bool next(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples) override;

  // An event, or a part of one, as Python has it: lines of text, or one JSON object.
  void read(VW::workspace& all, VW::string_view text, VW::multi_ex& examples);

  VW::label_type_t labels() const { return _rules.labels(); }

  // Whether every event that the learner sees has been read, and so checked, here. Of several models that learn from
  // the same input (--args), only one reads it.
  bool has_checked(const VW::workspace& all) const
  {
    return all.runtime_config.vw_is_main && _format != format::other && _event > 0;
  }

  // The lines of events that were refused after they were read, and that somebody still holds: when they are finished,
  // nothing is counted or printed for them. Both return whether that is news.
  bool remember_refusal(const VW::example* line) { return _refused.insert(line).second; }
  bool forget_refusal(const VW::example* line) { return !_refused.empty() && _refused.erase(line) > 0; }

  // Says on stderr how many events were skipped, and where they stand. Throws where all of them were.
  void report() const;

private:
  using reading_function = int (*)(VW::workspace*, VW::io_buf&, VW::multi_ex&);
  enum class format
  {
    text,
    json,
    other  // a cache, CSV: read by VW, checked in the stack
  };

  event_reader(VW::workspace& all, const event_rules& rules, bool skips_bad_events);

  bool read_text(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);
  bool read_json(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);
  bool read_other(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);

  // False at the end of the input.
  template <typename OnLine>
  bool for_each_line_of_an_event(VW::io_buf& input, OnLine on_line);
  // Adds a line of text to the event.
  void add_text(VW::workspace& all, VW::string_view line, VW::multi_ex& examples, size_t& count);
  // Whether a line of JSON is an event; VW skips those that say so. The line ends with a zero and is written over.
  bool add_json(VW::workspace& all, char* line, size_t length, VW::multi_ex& examples);
  void check_event(VW::workspace& all, const VW::multi_ex& examples) const;
  // Throws, with the place in the input; where bad events are skipped it only notes and says so.
  void refuse_or_note(const std::string& problem, size_t problem_line);

  event_rules _rules;
  format _format;
  bool _several_lines;
  bool _audit;
  bool _skips;
  reading_function _read_other;                        // VW's, where the format is none of ours
  std::unique_ptr<VW::details::input_parser> _others;  // what that needs
  bool _is_given_json;                                 // what `read` takes

  line_source _lines;
  size_t _line = 0;        // read so far
  size_t _event = 0;       // begun so far
  size_t _first_line = 0;  // of the event at hand
  size_t _last_line = 0;
  size_t _num_skipped = 0;
  std::vector<std::pair<size_t, size_t>> _skipped;  // the first and last lines of runs of them
  std::unordered_set<const VW::example*> _refused;
};

// One line of text; strictly where the workspace uses FastCB.
void read_line(VW::workspace& all, VW::example& ec, VW::string_view line);

// Makes examples as new, whatever they hold: VW clears the namespaces that an example lists, and one whose parsing
// failed has others.
void make_new(const VW::multi_ex& examples);

// Gives examples back to the workspace's pool, as new and without a word to the learner.
void give_back(VW::workspace& all, const VW::multi_ex& examples);
}  // namespace vw_fastcb
