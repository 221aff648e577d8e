// Reads whole events, checks each one before VW sees it, and hands back the examples of a refused event as new.
// Replaces VW's own reading functions, and calls them.
#pragma once

#include "line_source.h"
#include "strict/event_rules.h"

#include "vw/common/string_view.h"
#include "vw/core/global_data.h"
#include "vw/core/input_parser.h"
#include "vw/core/io_buf.h"
#include "vw/core/multi_ex.h"
#include "vw/core/vw_fwd.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace vw_fastcb
{
class event_reader : public VW::details::input_parser
{
public:
  // Takes over reading for a workspace whose input is open.
  static event_reader* install(VW::workspace& all, const event_rules& rules, bool skips_bad_events);

  // The reader of a workspace; nullptr if none was installed.
  static event_reader* of(const VW::workspace& all);

  // Reads the next event of the input; false at its end.
  bool next(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples) override;

  // Reads an event, or a part of one, as Python passes it: lines of text, or one JSON object.
  void read(VW::workspace& all, VW::string_view text, VW::multi_ex& examples);

  VW::label_type_t labels() const { return _rules.labels(); }

  // Whether this reader has read, and so checked, every event that the learner sees. When several models learn from the
  // same input (--args), only one of them reads it.
  bool has_checked(const VW::workspace& all) const
  {
    return all.runtime_config.vw_is_main && _format != format::other && _has_begun;
  }

  // Keeps track of the lines of events that were refused after reading and that a caller still holds. When the caller
  // finishes them, nothing is counted or printed. Both return whether that changed anything. The learner calls them,
  // and so does whoever reads, perhaps in another thread.
  bool remember_refusal(const VW::example* line);
  bool forget_refusal(const VW::example* line) { return any_refused() && forget_known_refusal(line); }
  bool any_refused() const { return _any_refused.load(std::memory_order_acquire); }

  // Reports on stderr how many events were skipped, and on which lines. Throws if all of them were.
  void report() const;

private:
  using reading_function = int (*)(VW::workspace*, VW::io_buf&, VW::multi_ex&);
  enum class format
  {
    text,
    json,
    other  // a cache or CSV: read by VW, checked in the stack
  };

  event_reader(VW::workspace& all, const event_rules& rules, bool skips_bad_events);

  bool read_text(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);
  bool read_json(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);
  bool read_other(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples);

  bool forget_known_refusal(const VW::example* line);
  void begin_event();
  // False at the end of the input.
  template <typename OnLine>
  bool for_each_line_of_an_event(VW::io_buf& input, OnLine on_line);
  // Adds a line of text to the event.
  void add_text(VW::workspace& all, VW::string_view line, VW::multi_ex& examples, size_t& count);
  // Whether a line of JSON is an event; VW skips lines that ask for it. The line ends with a zero and is overwritten.
  bool add_json(VW::workspace& all, char* line, size_t length, VW::multi_ex& examples);
  void check_event(VW::workspace& all, const VW::multi_ex& examples) const;
  // Throws, and says where in the input; if bad events are skipped, it only reports and remembers them.
  void refuse_or_note(const std::string& problem, size_t problem_line);

  event_rules _rules;
  format _format;
  bool _several_lines;
  bool _audit;
  bool _skips;
  reading_function _read_other;                        // VW's, for other formats
  std::unique_ptr<VW::details::input_parser> _others;  // and its parser
  bool _reads_json;                                    // whether `read` takes JSON

  line_source _lines;
  size_t _line = 0;        // read so far
  size_t _event = 0;       // begun so far; like all of these, for the thread that reads
  size_t _first_line = 0;  // of the current event
  size_t _last_line = 0;
  size_t _num_skipped = 0;
  std::vector<std::pair<size_t, size_t>> _skipped;  // the first and last lines of runs of them
  std::atomic<bool> _has_begun{false};              // whether there was an event, for the learner
  std::mutex _refusing;                             // held for what follows
  std::unordered_set<const VW::example*> _refused;
  std::atomic<bool> _any_refused{false};  // nearly always not, and then nobody waits
};

// Reads one line of text, strictly if the workspace uses FastCB.
void read_line(VW::workspace& all, VW::example& ec, VW::string_view line);

// Resets examples completely. VW only clears the namespaces that an example lists, and one whose parsing failed has
// others.
void make_new(const VW::multi_ex& examples);

// Returns examples to the workspace's pool, as new and without telling the learner.
void give_back(VW::workspace& all, const VW::multi_ex& examples);
}  // namespace vw_fastcb
