// Which column a key has: a hash table with open addressing, because it is asked for every feature of every action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vw_fastcb
{
class key_columns
{
public:
  static constexpr size_t NOT_HERE = SIZE_MAX;

  size_t size() const { return _size; }

  size_t find(uint64_t key) const
  {
    const entry* const entries = _entries.data();
    for (size_t at = place_of(key);; at = (at + 1) & _mask)
    {
      const auto& entry = entries[at];
      if (entry.key == key || entry.column == NOT_HERE) { return entry.column; }
    }
  }

  // A key that is not here yet.
  void insert(uint64_t key, size_t column)
  {
    if (4 * (_size + 1) > _entries.size()) { grow(); }
    put({key, column});
    ++_size;
  }

  void clear() { *this = key_columns(); }

private:
  struct entry
  {
    uint64_t key = 0;
    size_t column = NOT_HERE;
  };

  size_t place_of(uint64_t key) const
  {
    constexpr uint64_t SPREAD = 0x9e3779b97f4a7c15;  // neighbours go far apart
    return static_cast<size_t>((key * SPREAD) >> 32) & _mask;
  }
  void put(const entry& added)
  {
    size_t at = place_of(added.key);
    while (_entries[at].column != NOT_HERE) { at = (at + 1) & _mask; }
    _entries[at] = added;
  }
  void grow()
  {
    std::vector<entry> before(2 * _entries.size());
    before.swap(_entries);
    _mask = _entries.size() - 1;
    for (const auto& known : before)
    {
      if (known.column != NOT_HERE) { put(known); }
    }
  }

  std::vector<entry> _entries = std::vector<entry>(64);  // a power of two of them, most of them free
  size_t _mask = 63;
  size_t _size = 0;
};
}  // namespace vw_fastcb
