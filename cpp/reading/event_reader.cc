#include "event_reader.h"

#include "c_locale.h"
#include "strict/bad_event.h"
#include "strict/json_lines.h"
#include "strict/labels.h"
#include "strict/text_lines.h"
#include "strict/vw_messages.h"

#include "vw/common/text_utils.h"
#include "vw/config/options.h"
#include "vw/core/example.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parse_example_json.h"
#include "vw/core/parser.h"
#include "vw/core/vw.h"
#include "vw/io/logger.h"
#include "vw/json_parser/parse_example_json.h"
#include "vw/text_parser/parse_example_text.h"

#include "fmt/format.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

namespace vw_fastcb
{
namespace
{
namespace json = VW::parsers::json;

constexpr const char* NAME = "vw-fastcb";
constexpr const char* NOTHING = "it is empty. Give the lines of an event, or one JSON object.";

int read_next(VW::workspace* all, VW::io_buf& input, VW::multi_ex& examples)
{
  return event_reader::of(*all)->next(*all, input, examples) ? 1 : 0;
}

void read_event_of_caller(VW::workspace* all, VW::string_view text, VW::multi_ex& examples)
{
  event_reader::of(*all)->read(*all, text, examples);
}

bool is_json(const VW::workspace& all)
{
  const auto reader = all.parser_runtime.example_parser->reader;
  return reader == json::read_features_json<true> || reader == json::read_features_json<false>;
}

bool is_blank(VW::string_view text) { return text.find_first_not_of(" \t\r\n") == VW::string_view::npos; }

// Whether VW treats the line as an event.
template <bool audit>
bool parse_json(VW::workspace& all, char* line, size_t length, VW::multi_ex& examples, const json_facts& facts)
{
  // VW skips a log entry that does not say what was chosen. If it has actions, it asks for a prediction like any other.
  if (all.parser_runtime.example_parser->decision_service_json && !facts.has_choice && facts.num_actions > 0)
  {
    json::decision_service_interaction interaction;
    const auto make_example = [&all]() -> VW::example& { return VW::get_unused_example(&all); };
    json::read_line_decision_service_json<audit>(all, examples, line, length, false, make_example, &interaction);
    return !interaction.skip_learn;
  }
  return json::details::parse_line_json<audit>(&all, line, length, examples);
}

void end_event(VW::workspace& all, VW::multi_ex& examples)
{
  auto& end = VW::get_unused_example(&all);
  all.parser_runtime.example_parser->lbl_parser.default_label(end.l);
  end.is_newline = true;
  examples.push_back(&end);
}

// Empty lines around the event are ignored.
std::vector<VW::string_view> lines_of_event(VW::string_view text)
{
  std::vector<VW::string_view> lines;
  VW::tokenize('\n', text, lines, /*allow_empty=*/true);
  for (auto& line : lines) { line = content_of_line(line); }
  while (!lines.empty() && lines.back().empty()) { lines.pop_back(); }
  lines.erase(lines.begin(), std::find_if_not(lines.begin(), lines.end(), [](auto line) { return line.empty(); }));
  if (std::any_of(lines.begin(), lines.end(), [](auto line) { return line.empty(); }))
  {
    refuse("it has an empty line inside, which ends an event. Give one event at a time.");
  }
  return lines;
}

// Leaves one new example, which is what VW's readers start from.
void start_over(VW::workspace& all, VW::multi_ex& examples)
{
  make_new(examples);
  give_back(all, VW::multi_ex(examples.begin() + 1, examples.end()));
  examples.resize(1);
  all.parser_runtime.example_parser->lbl_parser.default_label(examples[0]->l);
}

std::string words_for(const std::pair<size_t, size_t>& lines)
{
  return lines.first == lines.second ? std::to_string(lines.first) : fmt::format("{}-{}", lines.first, lines.second);
}
}  // namespace

void read_line(VW::workspace& all, VW::example& ec, VW::string_view line)
{
  const auto* reader = event_reader::of(all);
  if (reader == nullptr)
  {
    VW::parsers::text::read_line(all, &ec, line);
    return;
  }
  const c_locale locale;
  try
  {
    while (!line.empty() && line.back() == '\n') { line.remove_suffix(1); }
    line = content_of_line(line);
    check_text_line(line, reader->labels());
    VW::parsers::text::read_line(all, &ec, line);
  }
  catch (const std::exception& e)
  {
    throw bad_event(as_problem(e));
  }
}

void make_new(const VW::multi_ex& examples)
{
  for (auto* example : examples)
  {
    const auto counter = example->example_counter;
    *example = VW::example();
    example->example_counter = counter;
  }
}

void give_back(VW::workspace& all, const VW::multi_ex& examples)
{
  make_new(examples);
  auto* reader = event_reader::of(all);
  for (auto* example : examples)
  {
    if (reader != nullptr) { reader->forget_refusal(example); }
    VW::finish_example(all, *example);
  }
}

event_reader::event_reader(VW::workspace& all, const event_rules& rules, bool skips_bad_events)
    : input_parser(NAME)
    , _rules(rules)
    , _format(is_json(all) ? format::json : format::text)
    , _several_lines(all.l->is_multiline())
    , _audit(all.output_config.audit || all.output_config.hash_inv)
    , _skips(skips_bad_events)
    , _read_other(all.parser_runtime.example_parser->reader)
    , _others(std::move(all.parser_runtime.custom_parser))
    , _reads_json(all.parser_runtime.example_parser->text_reader != VW::parsers::text::read_lines)
{
  const bool text = _read_other == VW::parsers::text::read_features_string;
  if (!is_json(all) && !text) { _format = format::other; }
}

event_reader* event_reader::install(VW::workspace& all, const event_rules& rules, bool skips_bad_events)
{
  auto& parser = *all.parser_runtime.example_parser;
  parser.lbl_parser = strict_label_parser(parser.lbl_parser, rules.fixed());
  parser.strict_parse = true;  // what VW cannot read is an error, not a warning
  auto reader = std::unique_ptr<event_reader>(new event_reader(all, rules, skips_bad_events));
  if (skips_bad_events && reader->_format == format::other)
  {
    THROW("--fastcb_bad_events skip works with text and JSON input only. Leave it out, or give the events as text.");
  }
  all.parser_runtime.custom_parser = std::move(reader);
  parser.reader = read_next;
  parser.text_reader = read_event_of_caller;
  return of(all);
}

event_reader* event_reader::of(const VW::workspace& all)
{
  auto* parser = all.parser_runtime.custom_parser.get();
  return parser != nullptr && parser->get_name() == NAME ? static_cast<event_reader*>(parser) : nullptr;
}

bool event_reader::next(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples)
{
  const c_locale locale;
  try
  {
    switch (_format)
    {
      case format::text:
        return read_text(all, input, examples);
      case format::json:
        return read_json(all, input, examples);
      default:
        return read_other(all, input, examples);
    }
  }
  catch (...)
  {
    make_new(examples);  // VW gives them back
    // VW's parser thread would print the problem as well, with its own count of events.
    if (all.runtime_config.vw_is_main) { all.logger.set_level(VW::io::log_level::CRITICAL_LEVEL); }
    throw;
  }
}

bool event_reader::read_text(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples)
{
  for (;;)
  {
    size_t count = 0;         // lines of the current event
    std::string problem;      // with the event
    size_t problem_line = 0;  // 0 if it concerns all lines
    const bool more = for_each_line_of_an_event(input,
        [&](VW::string_view line)
        {
          if (!problem.empty()) { return; }  // ignore the rest of the event
          try
          {
            add_text(all, line, examples, count);
          }
          catch (const std::exception& e)
          {
            problem = as_problem(e);
            problem_line = _line;
            if (!_skips) { refuse_or_note(problem, problem_line); }
          }
        });
    if (!more) { return false; }
    try
    {
      const bool blank = examples[0]->is_newline;
      if (problem.empty() && !blank) { check_event(all, examples); }
    }
    catch (const std::exception& e)
    {
      problem = as_problem(e);
    }
    if (problem.empty())
    {
      if (_several_lines) { end_event(all, examples); }
      return true;
    }
    refuse_or_note(problem, problem_line);
    start_over(all, examples);
  }
}

// Lines up to an empty one if events have several lines; otherwise one line, which may be empty.
template <typename OnLine>
bool event_reader::for_each_line_of_an_event(VW::io_buf& input, OnLine on_line)
{
  bool begun = false;
  for (;;)
  {
    char* line = nullptr;
    size_t length = 0;
    if (!_lines.next(input, line, length)) { return begun; }
    ++_line;
    if (length == 0 && _several_lines)
    {
      if (begun) { return true; }
      continue;
    }
    if (!begun && length > 0)
    {
      begin_event();
      _first_line = _line;
    }
    begun = true;
    _last_line = _line;
    on_line(VW::string_view(line, length));
    if (!_several_lines) { return true; }
  }
}

void event_reader::add_text(VW::workspace& all, VW::string_view line, VW::multi_ex& examples, size_t& count)
{
  if (count > 0) { examples.push_back(&VW::get_unused_example(&all)); }
  ++count;
  check_text_line(line, _rules.labels());
  VW::parsers::text::details::substring_to_example(&all, examples.back(), line);
}

bool event_reader::read_json(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples)
{
  for (;;)
  {
    char* line = nullptr;
    size_t length = 0;
    if (!_lines.next(input, line, length)) { return false; }
    ++_line;
    if (is_blank(VW::string_view(line, length))) { continue; }
    begin_event();
    _first_line = _last_line = _line;
    line[length] = '\0';  // the place of the newline
    try
    {
      if (add_json(all, line, length, examples))
      {
        check_event(all, examples);
        if (_several_lines) { end_event(all, examples); }
        return true;
      }
    }
    catch (const std::exception& e)
    {
      refuse_or_note(as_problem(e), _line);
    }
    start_over(all, examples);
  }
}

bool event_reader::add_json(VW::workspace& all, char* line, size_t length, VW::multi_ex& examples)
{
  const size_t indent = std::strspn(line, " \t\r\n");  // VW ignores an event that does not start with its bracket
  line += indent;
  length -= indent;
  const json_format format{_rules.labels(), all.parser_runtime.example_parser->decision_service_json, _several_lines};
  const auto facts = check_json_line(line, length, format);
  return _audit ? parse_json<true>(all, line, length, examples, facts)
                : parse_json<false>(all, line, length, examples, facts);
}

bool event_reader::read_other(VW::workspace& all, VW::io_buf& input, VW::multi_ex& examples)
{
  begin_event();
  if (_others == nullptr) { return _read_other(&all, input, examples) > 0; }
  return _others->next(all, input, examples);
}

void event_reader::begin_event()
{
  ++_event;
  _has_begun.store(true, std::memory_order_relaxed);
}

bool event_reader::remember_refusal(const VW::example* line)
{
  const std::lock_guard<std::mutex> lock(_refusing);
  _any_refused = true;
  return _refused.insert(line).second;
}

bool event_reader::forget_known_refusal(const VW::example* line)
{
  const std::lock_guard<std::mutex> lock(_refusing);
  const bool was_refused = _refused.erase(line) > 0;
  _any_refused = !_refused.empty();
  return was_refused;
}

void event_reader::check_event(VW::workspace& all, const VW::multi_ex& examples) const
{
  // VW sets it later, from the label.
  const auto weight_of = all.parser_runtime.example_parser->lbl_parser.get_weight;
  for (auto* example : examples) { example->weight = weight_of(example->l, example->ex_reduction_features); }
  const bool will_learn = all.runtime_config.training;
  if (_several_lines) { _rules.check(examples, will_learn); }
  else { _rules.check(*examples[0], will_learn); }
}

void event_reader::refuse_or_note(const std::string& problem, size_t problem_line)
{
  const auto place = problem_line > 0            ? fmt::format("line {}", problem_line)
                     : _first_line == _last_line ? fmt::format("line {}", _last_line)
                                                 : fmt::format("lines {} to {}", _first_line, _last_line);
  const auto message = fmt::format("{} This was event {} of the input, {}.", problem, _event, place);
  if (!_skips) { throw bad_event(message); }
  constexpr size_t MOST_EXPLAINED = 20;
  if (++_num_skipped <= MOST_EXPLAINED) { std::cerr << "vw-fastcb: skipped a " + message + '\n'; }
  if (!_skipped.empty() && _skipped.back().second + 1 == _first_line) { _skipped.back().second = _last_line; }
  else { _skipped.emplace_back(_first_line, _last_line); }
}

void event_reader::read(VW::workspace& all, VW::string_view text, VW::multi_ex& examples)
{
  const c_locale locale;
  size_t count = 0;  // lines
  try
  {
    if (is_blank(text)) { refuse(NOTHING); }
    if (_reads_json)
    {
      text = content_of_line(text);
      std::vector<char> line(text.begin(), text.end());
      line.push_back('\0');
      if (!add_json(all, line.data(), text.size(), examples)) { start_over(all, examples); }
      return;
    }
    const auto lines = lines_of_event(text);
    if (lines.empty()) { refuse(NOTHING); }
    if (lines.size() > 1 && !_several_lines)
    {
      refuse(fmt::format("it has {} lines; expected one. Pass each event on its own.", lines.size()));
    }
    for (const auto& line : lines) { add_text(all, line, examples, count); }
  }
  catch (const std::exception& e)
  {
    make_new(examples);
    throw bad_event(as_problem(e) + (count > 1 ? fmt::format(" This was line {} of the event.", count) : ""));
  }
}

void event_reader::report() const
{
  if (_num_skipped == 0) { return; }
  if (_num_skipped == _event)
  {
    THROW("all " << _event << " events in the input are bad. Check that the flags match the file.");
  }
  constexpr size_t MOST_SHOWN = 1000;
  std::string lines;
  for (size_t i = 0; i < std::min(_skipped.size(), MOST_SHOWN); ++i)
  {
    lines += (i == 0 ? "" : ", ") + words_for(_skipped[i]);
  }
  std::cerr << fmt::format("vw-fastcb: skipped {} bad {} of {}, at {} {}{}\n", _num_skipped,
      _num_skipped == 1 ? "event" : "events", _event, lines.find_first_of(",-") == std::string::npos ? "line" : "lines",
      lines, _skipped.size() > MOST_SHOWN ? ", ..." : ".");
}
}  // namespace vw_fastcb
