// What an oracle knows as bytes, and back.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace vw_fastcb
{
class byte_writer
{
public:
  template <typename Number>
  void add(Number number)
  {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  std::string bytes;
};

class byte_reader
{
public:
  explicit byte_reader(const std::string& bytes) : _bytes(bytes) {}
  template <typename Number>
  Number next()
  {
    Number number;
    if (_bytes.size() - _at < sizeof(number)) { throw std::invalid_argument("the oracle's state is cut short"); }
    std::memcpy(&number, _bytes.data() + _at, sizeof(number));
    _at += sizeof(number);
    return number;
  }
  bool at_end() const { return _at == _bytes.size(); }
  size_t left() const { return _bytes.size() - _at; }

private:
  const std::string& _bytes;
  size_t _at = 0;
};
}  // namespace vw_fastcb
