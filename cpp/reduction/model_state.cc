#include "model_state.h"

#include "vw/common/vw_exception.h"
#include "vw/core/io_buf.h"
#include "vw/core/learner.h"
#include "vw/core/model_utils.h"
#include "vw/io/io_adapter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
namespace
{
constexpr std::array<char, 8> MAGIC = {'f', 'a', 's', 't', 'c', 'b', '0', '2'};

// The block in the file. Fixed-width fields: the same file on every machine of the same byte order, as VW's own.
struct state_block
{
  std::array<char, 8> magic = MAGIC;
  model_state state;
  uint64_t bytes_below = 0;
  uint64_t stack_below = 0;  // which learners wrote them
  uint64_t seal = 0;         // over all above but the magic, and the bytes
};
static_assert(sizeof(state_block) == 48, "the block is written as it lies in memory and must have no padding");

constexpr uint64_t FNV_BASIS = 14695981039346656037ull;

uint64_t fnv1a(const char* bytes, size_t count, uint64_t hash = FNV_BASIS)
{
  for (size_t i = 0; i < count; ++i) { hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull; }
  return hash;
}

uint64_t seal_of(const state_block& block, const std::vector<char>& bytes)
{
  const auto* const fields = reinterpret_cast<const char*>(&block.state);
  const auto count = offsetof(state_block, seal) - offsetof(state_block, state);
  return fnv1a(bytes.data(), bytes.size(), fnv1a(fields, count));
}

std::string names_of(const VW::LEARNER::learner& below)
{
  std::vector<std::string> learners;
  below.get_enabled_learners(learners);
  std::string names;
  for (const auto& learner : learners) { names += (names.empty() ? "" : ", ") + learner; }
  return names;
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

model_state read_block(VW::LEARNER::learner& below, VW::io_buf& io)
{
  state_block block;
  if (io.bin_read_fixed(reinterpret_cast<char*>(&block), sizeof(block)) != sizeof(block) || block.magic != MAGIC)
  {
    THROW(
        "the model has no FastCB state: it was not made by --fastcb, or the file is truncated. Start a new model "
        "with --fastcb, or load this one without it.");
  }
  auto rest = rest_of(io);
  if (rest.size() != block.bytes_below || block.seal != seal_of(block, rest))
  {
    THROW("the model file is damaged: " << block.bytes_below << " bytes of weights were saved and " << rest.size()
                                        << " were found"
                                        << (rest.size() == block.bytes_below ? ", not the same ones" : "")
                                        << ". Use an intact copy.");
  }
  const auto names = names_of(below);
  if (block.stack_below != fnv1a(names.data(), names.size()))
  {
    THROW("the model was not made with the learners that are to load it ("
          << names << "). Load it without flags that "
          << "choose a learner, such as --nn or --coin.");
  }
  // The file is read to its end; the learners below go on from memory.
  io.close_files();
  io.add_file(std::make_unique<verified_reader>(std::move(rest)));
  io.reset();
  return block.state;
}

void write_block(const model_state& state, VW::LEARNER::learner& below, VW::io_buf& io)
{
  const auto bytes = serialized(below);
  state_block block;
  block.state = state;
  block.bytes_below = bytes.size();
  const auto names = names_of(below);
  block.stack_below = fnv1a(names.data(), names.size());
  block.seal = seal_of(block, bytes);
  io.bin_write_fixed(reinterpret_cast<const char*>(&block), sizeof(block));
}
}  // namespace

void save_load_state(model_state& state, VW::LEARNER::learner& below, VW::io_buf& io, bool read, bool text)
{
  if (io.num_files() == 0) { return; }
  if (read) { state = read_block(below, io); }
  else if (text) { VW::model_utils::write_model_field(io, state.events, "fastcb events learned", text); }
  else { write_block(state, below, io); }
}
}  // namespace vw_fastcb
