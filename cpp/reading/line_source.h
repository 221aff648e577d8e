// The lines of a workspace's input. VW's own io_buf searches for the end of a line byte by byte, which took a tenth of
// the time of learning from a log.
#pragma once

#include "vw/common/string_view.h"
#include "vw/common/vw_throw.h"
#include "vw/core/io_buf.h"
#include "vw/io/io_adapter.h"

#include <cerrno>
#include <cstring>
#include <vector>

namespace vw_fastcb
{
// A line without a byte-order mark before it and a carriage return after it.
inline VW::string_view content_of_line(VW::string_view line)
{
  constexpr VW::string_view MARK = "\xef\xbb\xbf";
  if (line.substr(0, MARK.size()) == MARK) { line.remove_prefix(MARK.size()); }
  if (!line.empty() && line.back() == '\r') { line.remove_suffix(1); }
  return line;
}

class line_source
{
public:
  // The next line, without its end; false at the end of the input. The caller may overwrite it, and it has room for a
  // zero at its end. Waits for no more than the line, because whoever feeds a pipe may be waiting for the answer.
  bool next(VW::io_buf& input, char*& line, size_t& length)
  {
    size_t searched = _from;
    for (;;)
    {
      auto* const end = static_cast<char*>(std::memchr(_buffer.data() + searched, '\n', _to - searched));
      if (end != nullptr)
      {
        give(line, length, static_cast<size_t>(end - _buffer.data()));
        ++_from;
        return true;
      }
      searched = _to - _from;
      make_room();
      if (!fill(input)) { break; }
    }
    if (_from == _to) { return false; }
    _buffer[_to] = '\n';  // an earlier line may lie here, and VW would read on in its digits
    give(line, length, _to);
    return true;
  }

private:
  void give(char*& line, size_t& length, size_t end)
  {
    const auto text = content_of_line({_buffer.data() + _from, end - _from});
    line = _buffer.data() + (text.data() - _buffer.data());
    length = text.size();
    _from = end;
  }

  void make_room()
  {
    std::memmove(_buffer.data(), _buffer.data() + _from, _to - _from);
    _to -= _from;
    _from = 0;
    if (_to + 1 >= _buffer.size()) { _buffer.resize(2 * _buffer.size()); }
  }

  bool fill(VW::io_buf& input)
  {
    const auto& files = input.get_input_files();
    for (; _file < files.size(); ++_file)
    {
      const auto count = files[_file]->read(_buffer.data() + _to, _buffer.size() - 1 - _to);
      if (count < 0) { THROW("the input could not be read to its end: " << std::strerror(errno) << "."); }
      if (count == 0) { continue; }
      _to += static_cast<size_t>(count);
      return true;
    }
    return false;
  }

  std::vector<char> _buffer = std::vector<char>(1 << 16);
  size_t _from = 0;  // what has been read but not returned starts here
  size_t _to = 0;    // and ends here
  size_t _file = 0;  // the file being read
};
}  // namespace vw_fastcb
