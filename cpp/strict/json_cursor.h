// Walks over JSON text once, without making anything of it. What VW's parsers are given afterwards is known to be
// well formed.
#pragma once

#include "bad_event.h"
#include "numbers.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <cstring>
#include <string>

namespace vw_fastcb
{
class json_cursor
{
public:
  // `end` must be readable, as the terminating zero of a string is.
  json_cursor(const char* begin, const char* end) : _begin(begin), _at(begin), _end(end) {}

  // The first character of what comes next.
  char peek()
  {
    while (*_at == ' ' || *_at == '\t' || *_at == '\r' || *_at == '\n') { ++_at; }
    return _at < _end ? *_at : '\0';
  }

  // Calls `on_member(key)` for each member of an object; it must pass over the value. Keys are as written, their
  // escapes not resolved.
  template <typename OnMember>
  void members(OnMember on_member)
  {
    enter('{', "an object");
    if (!leave_empty('}'))
    {
      do {
        if (peek() != '"') { fail("a name in quotes"); }
        const auto key = string();
        expect(':');
        on_member(key);
      } while (next('}'));
    }
    --_depth;
  }

  // Calls `on_element()` for each element of an array; it must pass over the element.
  template <typename OnElement>
  void elements(OnElement on_element)
  {
    enter('[', "an array");
    if (!leave_empty(']'))
    {
      do {
        on_element();
      } while (next(']'));
    }
    --_depth;
  }

  // What is between the quotes, as written.
  VW::string_view string()
  {
    const char* const start = ++_at;
    for (;;)
    {
      const auto byte = static_cast<unsigned char>(*_at);
      if (byte == '"') { break; }
      if (byte < 0x20) { fail("a closing quote"); }
      // What is escaped may be a quote, but not the end of the text.
      if (byte == '\\' && static_cast<unsigned char>(*++_at) < 0x20) { fail("an escaped character"); }
      ++_at;
    }
    return {start, static_cast<size_t>(_at++ - start)};
  }

  // The text of a number.
  VW::string_view number()
  {
    const char* const start = _at;
    if (*_at == '-') { ++_at; }
    digits();
    if (*_at == '.')
    {
      ++_at;
      digits();
    }
    if (*_at == 'e' || *_at == 'E')
    {
      ++_at;
      if (*_at == '+' || *_at == '-') { ++_at; }
      digits();
    }
    return {start, static_cast<size_t>(_at - start)};
  }

  // Passes over true, false or null.
  void word()
  {
    const size_t length = *_at == 'f' ? 5 : 4;
    const bool known =
        std::strncmp(_at, "true", 4) == 0 || std::strncmp(_at, "false", 5) == 0 || std::strncmp(_at, "null", 4) == 0;
    if (!known) { fail("a value"); }
    _at += length;
  }

  bool at_number() { return peek() == '-' || (*_at >= '0' && *_at <= '9'); }

  // Passes over a value of any kind; `on_member` is told of the members of objects, however deep.
  template <typename OnMember>
  void value(OnMember on_member)
  {
    switch (peek())
    {
      case '{':
        members(on_member);
        break;
      case '[':
        elements([&] { value(on_member); });
        break;
      case '"':
        string();
        break;
      default:
        if (at_number()) { number(); }
        else { word(); }
    }
  }

  void value()
  {
    value([this](VW::string_view) { value(); });
  }

  void expect_end()
  {
    if (peek() != '\0' || _at < _end) { fail("the end of the line"); }
  }

  [[noreturn]] void fail(const char* expected) const
  {
    const auto rest = VW::string_view(_at, static_cast<size_t>(_at < _end ? _end - _at : 0));
    const auto found = rest.empty() ? std::string("the end of the line") : quoted(rest, 20);
    refuse(
        fmt::format("it is not valid JSON. Expected {} at character {}, found {}.", expected, _at - _begin + 1, found));
  }

private:
  static constexpr int DEEPEST = 100;  // VW's parser calls itself for each level

  void enter(char bracket, const char* what)
  {
    if (peek() != bracket) { fail(what); }
    if (++_depth > DEEPEST) { refuse(fmt::format("its JSON is nested more than {} levels deep.", DEEPEST)); }
    ++_at;
  }

  bool leave_empty(char bracket)
  {
    if (peek() != bracket) { return false; }
    ++_at;
    return true;
  }

  void expect(char character)
  {
    if (peek() != character) { fail(character == ':' ? "a colon" : "a comma"); }
    ++_at;
  }

  // Whether another entry follows; passes over the comma or the closing bracket.
  bool next(char bracket)
  {
    if (leave_empty(bracket)) { return false; }
    expect(',');
    return true;
  }

  void digits()
  {
    if (*_at < '0' || *_at > '9') { fail("a number"); }
    while (*_at >= '0' && *_at <= '9') { ++_at; }
  }

  const char* const _begin;
  const char* _at;
  const char* const _end;
  int _depth = 0;
};
}  // namespace vw_fastcb
