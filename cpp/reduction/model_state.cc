#include "model_state.h"

#include "vw/common/vw_exception.h"
#include "vw/core/io_buf.h"
#include "vw/core/learner.h"
#include "vw/core/model_utils.h"
#include "vw/io/io_adapter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
namespace
{
constexpr std::array<char, 8> MAGIC = {'f', 'a', 's', 't', 'c', 'b', '0', '1'};

// The block in the file. Fixed-width fields: the same file on every machine of the same byte order, as VW's own.
struct state_block
{
  std::array<char, 8> magic = MAGIC;
  uint64_t events = 0;
  uint64_t bytes_below = 0;
  uint64_t hash_below = 0;
};
static_assert(sizeof(state_block) == 32, "the block is written as it lies in memory and must have no padding");

uint64_t fnv1a(const std::vector<char>& bytes)
{
  uint64_t hash = 14695981039346656037ull;
  for (const char byte : bytes) { hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ull; }
  return hash;
}

std::vector<char> serialized(VW::LEARNER::learner& learner)
{
  auto bytes = std::make_shared<std::vector<char>>();
  VW::io_buf buffer;
  buffer.add_file(VW::io::create_vector_writer(bytes));
  learner.save_load(buffer, /*read=*/false, /*text=*/false);
  buffer.flush();
  return std::move(*bytes);
}

// Hands bytes that were read and verified to the learners they are for.
class verified_reader final : public VW::io::reader
{
public:
  explicit verified_reader(std::vector<char> bytes) : VW::io::reader(/*is_resettable=*/true), _bytes(std::move(bytes))
  {
  }
  ssize_t read(char* buffer, size_t num_bytes) override
  {
    const size_t count = std::min(num_bytes, _bytes.size() - _position);
    std::memcpy(buffer, _bytes.data() + _position, count);
    _position += count;
    return static_cast<ssize_t>(count);
  }
  void reset() override { _position = 0; }

private:
  std::vector<char> _bytes;
  size_t _position = 0;
};

std::vector<char> rest_of(VW::io_buf& io)
{
  std::vector<char> rest;
  std::array<char, 1 << 16> chunk;
  while (const size_t count = io.bin_read_fixed(chunk.data(), chunk.size()))
  {
    rest.insert(rest.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return rest;
}

uint64_t read_block(VW::io_buf& io)
{
  state_block block;
  if (io.bin_read_fixed(reinterpret_cast<char*>(&block), sizeof(block)) != sizeof(block) || block.magic != MAGIC)
  {
    THROW(
        "the model has no FastCB state: it was not made by --fastcb, or the file is truncated. Start a new model "
        "with --fastcb, or load this one without it.");
  }
  auto rest = rest_of(io);
  if (rest.size() != block.bytes_below || fnv1a(rest) != block.hash_below)
  {
    THROW("the model file is damaged: " << block.bytes_below << " bytes of weights were saved and " << rest.size()
                                        << " were found"
                                        << (rest.size() == block.bytes_below ? ", not the same ones" : "")
                                        << ". Use an intact copy.");
  }
  // The file is read to its end; the learners below go on from memory.
  io.close_files();
  io.add_file(std::make_unique<verified_reader>(std::move(rest)));
  io.reset();
  return block.events;
}

void write_block(uint64_t events, VW::LEARNER::learner& below, VW::io_buf& io)
{
  const auto bytes = serialized(below);
  state_block block;
  block.events = events;
  block.bytes_below = bytes.size();
  block.hash_below = fnv1a(bytes);
  io.bin_write_fixed(reinterpret_cast<const char*>(&block), sizeof(block));
}
}  // namespace

void save_load_state(uint64_t& events, VW::LEARNER::learner& below, VW::io_buf& io, bool read, bool text)
{
  if (io.num_files() == 0) { return; }
  if (read) { events = read_block(io); }
  else if (text) { VW::model_utils::write_model_field(io, events, "fastcb events learned", text); }
  else { write_block(events, below, io); }
}
}  // namespace vw_fastcb
