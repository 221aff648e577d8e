// Walks over JSON text once without building anything, so that VW's parsers only see well-formed JSON. Every byte of a
// log passes through here, so bytes are looked up in a table instead of compared.
//
// Why not rapidjson, which reads slates: on a log entry with 10 actions (50) a whole check takes 13,000 (68,000)
// instructions here, and rapidjson's Reader, with a handler that does nothing, 27,000 (182,000), or where it may
// overwrite the line, which VW has to read afterwards, 19,000 (130,000). All of FastCB takes 98,000 (527,000).
#pragma once

#include "bad_event.h"

#include "vw/common/string_view.h"

#include "fmt/format.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace vw_fastcb
{
class json_cursor
{
public:
  // `end` must be readable and hold a zero, like the end of a C string.
  json_cursor(const char* begin, const char* end) : _begin(begin), _at(begin), _end(end) {}

  // A name, as written.
  struct key
  {
    VW::string_view text;
    bool has_escapes;
  };

  // The first character of what comes next; zero at the end.
  char peek()
  {
    while (is(SPACE)) { ++_at; }
    return *_at;
  }

  // Calls `on_member(key)` for each member of an object; it must consume the value. With `but_features`, members that
  // are just a name and a number are skipped.
  template <bool but_features = false, typename OnMember>
  void members(OnMember on_member)
  {
    enter('{', "an object");
    if (!take('}'))
    {
      do {
        if (but_features) { plain_features(); }
        if (peek() != '"') { fail("a name in quotes"); }
        const key name = string();
        _name = name.text;
        if (!take(':')) { fail("a colon"); }
        on_member(name);
      } while (another('}'));
    }
    --_depth;
  }

  // Skips members `"name":number,`, the form of most features. Another member follows.
  void plain_features()
  {
    for (;;)
    {
      const char* at = _at;
      if (at[0] != '"' || at[1] == '_') { return; }
      do {
        ++at;
      } while (is(TEXT, at));
      if (at[0] != '"' || at[1] != ':' || !is(DIGIT, at + 2) || has_needless_zero(at + 2)) { return; }
      at += 2;
      do {
        ++at;
      } while (is(OF_NUMBER, at));  // VW's parser knows whether it is one
      if (*at != ',') { return; }
      _at = at + 1;
    }
  }

  // Calls `on_element()` for each element of an array; it must consume the element.
  template <typename OnElement>
  void elements(OnElement on_element)
  {
    enter('[', "an array");
    if (!take(']'))
    {
      do {
        on_element();
      } while (another(']'));
    }
    --_depth;
  }

  // Skips a value of any kind; calls `on_member` for the members of objects, however deep.
  template <bool but_features = false, typename OnMember>
  void value(OnMember on_member)
  {
    const char first = peek();
    if (first == '"') { string(); }
    else if (first == '{') { members<but_features>(on_member); }
    else if (first == '[')
    {
      elements([&] { value<but_features>(on_member); });
    }
    else if (at_number()) { number(); }
    else { word(); }
  }

  void value()
  {
    value([this](const key&) { value(); });
  }

  key string()
  {
    const char* const start = _at + 1;
    const char* at = start;  // not the member, which would be written back for every byte
    bool has_escapes = false;
    for (;;)
    {
      while (is(TEXT, at)) { ++at; }
      if (*at == '"') { break; }
      _at = at;
      if (*at != '\\') { fail("a closing quote"); }
      has_escapes = true;
      at = ++_at;  // an escaped character may be a quote, but not the end of the text
      if (std::strchr("\"\\/bfnrtu", *at) == nullptr || *at == '\0') { fail("one of \"\\/bfnrtu after a backslash"); }
      if (std::strncmp(at, "u0000", 5) == 0)
      {
        refuse("a name or a text contains a zero character, \\u0000, and VW reads nothing after it. Remove it.");
      }
      ++at;
    }
    _at = at + 1;
    return {{start, static_cast<size_t>(at - start)}, has_escapes};
  }

  bool at_number() { return peek() == '-' || is(DIGIT); }

  // The text of a number.
  VW::string_view number()
  {
    const char* const start = _at;
    if (*_at == '-') { ++_at; }
    if (has_needless_zero(_at)) { fail("a number without zeros before it"); }
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

  // Skips true, false or null.
  void word()
  {
    for (const char* known : {"true", "false", "null"})
    {
      const size_t length = std::strlen(known);
      if (std::strncmp(_at, known, length) != 0) { continue; }
      _at += length;
      return;
    }
    fail("a value");
  }

  void expect_end()
  {
    if (peek() != '\0' || _at < _end) { fail("the end of the line"); }
  }

  [[noreturn]] void fail(const char* expected) const
  {
    const auto rest = VW::string_view(_at, static_cast<size_t>(_at < _end ? _end - _at : 0));
    const auto actual = rest.empty() ? std::string("the end of the line") : quoted(rest, 20);
    const auto after = _name.empty() ? std::string() : ", after the name " + quoted(_name);
    refuse(fmt::format(
        "it is not valid JSON. Expected {} at character {}, found {}{}.", expected, _at - _begin + 1, actual, after));
  }

private:
  static constexpr int DEEPEST = 100;  // VW's parser recurses for each level

  // What a byte may be. Zero is none of these, so no loop runs past the end.
  static constexpr uint8_t SPACE = 1;
  static constexpr uint8_t DIGIT = 2;
  static constexpr uint8_t TEXT = 4;  // of a string: neither its end, nor an escape, nor a control character
  static constexpr uint8_t OF_NUMBER = 8;
  static constexpr std::array<uint8_t, 256> KINDS = []
  {
    std::array<uint8_t, 256> kinds{};
    for (size_t byte = 0x20; byte < kinds.size(); ++byte) { kinds[byte] = TEXT; }
    kinds['"'] = kinds['\\'] = 0;
    for (const char byte : {' ', '\t', '\r', '\n'}) { kinds[static_cast<size_t>(byte)] |= SPACE; }
    for (char byte = '0'; byte <= '9'; ++byte) { kinds[static_cast<size_t>(byte)] |= DIGIT | OF_NUMBER; }
    for (const char byte : {'.', 'e', 'E', '+', '-'}) { kinds[static_cast<size_t>(byte)] |= OF_NUMBER; }
    return kinds;
  }();

  static bool is(uint8_t kind, const char* at) { return (KINDS[static_cast<unsigned char>(*at)] & kind) != 0; }
  bool is(uint8_t kind) const { return is(kind, _at); }
  static bool has_needless_zero(const char* digits) { return digits[0] == '0' && is(DIGIT, digits + 1); }

  void enter(char bracket, const char* what)
  {
    if (peek() != bracket) { fail(what); }
    if (++_depth > DEEPEST)
    {
      refuse(fmt::format("its JSON is nested more than {} levels deep. Flatten it.", DEEPEST));
    }
    ++_at;
  }

  bool take(char character)
  {
    if (peek() != character) { return false; }
    ++_at;
    return true;
  }

  // Skips the comma before another entry, or the closing bracket.
  bool another(char bracket)
  {
    if (take(',')) { return true; }
    if (!take(bracket)) { fail("a comma"); }
    return false;
  }

  void digits()
  {
    if (!is(DIGIT)) { fail("a number"); }
    const char* at = _at;
    do {
      ++at;
    } while (is(DIGIT, at));
    _at = at;
  }

  const char* const _begin;
  const char* _at;
  const char* const _end;
  VW::string_view _name;  // the last one that was read, but for plain features
  int _depth = 0;
};
}  // namespace vw_fastcb
