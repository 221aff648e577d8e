// Models without a file. VW opens the model that -i names in one function; a model in memory has a name there, so that
// all that goes with -i is the same for both.
#pragma once

#include "vw/io/io_adapter.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vw_fastcb
{
// Appends what is written to a vector. VW has a writer that does, but it makes room for each piece by itself: the time
// to save a model would grow with the square of its size.
class memory_writer final : public VW::io::writer
{
public:
  explicit memory_writer(std::vector<char>& bytes) : _bytes(&bytes) {}
  ssize_t write(const char* buffer, size_t num_bytes) override
  {
    _bytes->insert(_bytes->end(), buffer, buffer + num_bytes);
    return static_cast<ssize_t>(num_bytes);
  }

private:
  std::vector<char>* _bytes;
};

// While this lives, -i with this name reads these bytes, in this thread. They must live as long.
class model_in_memory
{
public:
  static constexpr const char* NAME = "<model in memory>";

  explicit model_in_memory(std::string_view bytes);
  ~model_in_memory();
  model_in_memory(const model_in_memory&) = delete;
  model_in_memory& operator=(const model_in_memory&) = delete;
};

// What -i names: a file, or the model in memory. VW's own function is patched to call this.
std::unique_ptr<VW::io::reader> open_model(const std::string& name);
}  // namespace vw_fastcb
