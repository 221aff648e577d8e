#include "model_state.h"

#include "model_in_memory.h"

#include "vw/common/vw_throw.h"
#include "vw/core/io_buf.h"
#include "vw/core/learner.h"
#include "vw/core/model_utils.h"
#include "vw/io/io_adapter.h"

#include "fmt/format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace vw_fastcb
{
namespace
{
// What every block begins with: these six letters, the version of its format in two digits, and since format 3 the
// version of the package that wrote it. Later formats keep to this, so that earlier packages can say what they found.
// Since format 4 a note follows the block, in format 5 what the second-order oracle knows, and in format 6 the loss so
// far. Format 7 says which arithmetic the model has, and whether there is a loss. A model is written in the earliest
// format that has what it needs, which earlier packages read.
constexpr const char* MAGIC = "fastcb";
constexpr size_t MAGIC_LENGTH = 6;
constexpr int FORMAT = 7;
constexpr int FORMAT_WITHOUT_ARITHMETIC = 6;
constexpr int FORMAT_WITHOUT_LOSS = 5;
constexpr int FORMAT_WITHOUT_ORACLE = 4;
constexpr int FORMAT_WITHOUT_NOTE = 3;
constexpr int FORMAT_WITHOUT_VERSION = 2;  // of version 0.1

struct block_start
{
  std::array<char, 8> magic;
};

using package_version = std::array<char, 16>;  // padded with zeros

// The rest of the block. Fixed-width fields: the same file on every machine of the same byte order, as VW's own.
struct state_block
{
  event_counts counts;
  uint64_t bytes_below = 0;
  uint64_t stack_below = 0;  // which learners wrote them
  uint64_t seal = 0;         // over the version, all above, the note, and the bytes
};
// What format 7 has at its end.
struct arithmetic_block
{
  uint64_t arithmetic = 0;
  uint64_t weights_in_table = 0;
  uint64_t has_loss = 0;
  double loss = 0.;
};
static_assert(sizeof(arithmetic_block) == 32, "the block is written as it lies in memory and must have no padding");

static_assert(sizeof(state_block) == 40, "the block is written as it lies in memory and must have no padding");

block_start start_of(int format)
{
  block_start start{};
  const auto text = fmt::format("{}{:02}", MAGIC, format);
  std::copy(text.begin(), text.end(), start.magic.begin());
  return start;
}

package_version this_version()
{
  package_version version{};
  const std::string text = VW_FASTCB_VERSION;
  std::copy_n(text.begin(), std::min(text.size(), version.size()), version.begin());
  return version;
}

// The format of a block that begins so; 0 where it is none of ours.
int format_of(const block_start& start)
{
  const auto& magic = start.magic;
  const bool digits = std::isdigit(magic[6]) != 0 && std::isdigit(magic[7]) != 0;
  if (std::strncmp(magic.data(), MAGIC, MAGIC_LENGTH) != 0 || !digits) { return 0; }
  return (magic[6] - '0') * 10 + (magic[7] - '0');
}

constexpr uint64_t FNV_BASIS = 14695981039346656037ull;

uint64_t fnv1a(const char* bytes, size_t count, uint64_t hash = FNV_BASIS)
{
  for (size_t i = 0; i < count; ++i) { hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull; }
  return hash;
}

arithmetic_block arithmetic_of(const model_state& state)
{
  return {state.arithmetic, state.weights_in_table, state.loss ? 1u : 0u, state.loss.value_or(0.)};
}

// What a format does not have leaves its seal as it was.
uint64_t seal_of(
    const package_version& version, const state_block& block, const model_state& state, const std::vector<char>& bytes)
{
  const auto* const fields = reinterpret_cast<const char*>(&block);
  const auto length = strnlen(version.data(), version.size());
  const auto start = fnv1a(version.data(), length == 0 ? 0 : version.size());
  const auto with_fields = fnv1a(fields, offsetof(state_block, seal), start);
  const auto with_note = fnv1a(state.note.data(), state.note.size(), with_fields);
  const auto with_oracle = fnv1a(state.oracle.data(), state.oracle.size(), with_note);
  const auto loss = state.loss.value_or(0.);
  const auto with_loss = fnv1a(reinterpret_cast<const char*>(&loss), state.loss ? sizeof(loss) : 0, with_oracle);
  const auto numbers = arithmetic_of(state);
  const auto with_arithmetic =
      fnv1a(reinterpret_cast<const char*>(&numbers), state.arithmetic > 0 ? sizeof(numbers) : 0, with_loss);
  return fnv1a(bytes.data(), bytes.size(), with_arithmetic);
}

std::string names_of(const VW::LEARNER::learner& below)
{
  std::vector<std::string> learners;
  below.get_enabled_learners(learners);
  // What VW adds to a name while it prints features. The model is the same with and without.
  const std::string printing = "-audit";
  std::string names;
  for (const auto& learner : learners)
  {
    const auto end = learner.size() < printing.size() ? std::string::npos : learner.size() - printing.size();
    const bool prints = end != std::string::npos && learner.compare(end, std::string::npos, printing) == 0;
    names += (names.empty() ? "" : ", ") + (prints ? learner.substr(0, end) : learner);
  }
  return names;
}

std::vector<char> serialized(VW::LEARNER::learner& learner)
{
  std::vector<char> bytes;
  VW::io_buf buffer;
  buffer.add_file(std::make_unique<memory_writer>(bytes));
  learner.save_load(buffer, /*read=*/false, /*text=*/false);
  buffer.flush();
  return bytes;
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

template <typename Part>
bool read_into(VW::io_buf& io, Part& part)
{
  return io.bin_read_fixed(reinterpret_cast<char*>(&part), sizeof(part)) == sizeof(part);
}

template <typename Part>
void write(VW::io_buf& io, const Part& part)
{
  io.bin_write_fixed(reinterpret_cast<const char*>(&part), sizeof(part));
}

// A length, then as many bytes. A length that no file can hold is damage.
bool read_text(VW::io_buf& io, std::string& text)
{
  constexpr uint64_t MOST_BYTES = uint64_t{1} << 36;
  constexpr uint64_t BYTES_AT_ONCE = uint64_t{1} << 20;
  uint64_t length = 0;
  if (!read_into(io, length) || length > MOST_BYTES) { return false; }
  text.clear();
  while (text.size() < length)  // in parts: a damaged length must not ask for memory that no file fills
  {
    const auto begin = text.size();
    text.resize(std::min(length, begin + BYTES_AT_ONCE));
    if (io.bin_read_fixed(&text[begin], text.size() - begin) != text.size() - begin) { return false; }
  }
  return true;
}

void write_text(VW::io_buf& io, const std::string& text)
{
  write(io, static_cast<uint64_t>(text.size()));
  if (!text.empty()) { io.bin_write_fixed(text.data(), text.size()); }
}

// What a block ends with.
bool read_end(VW::io_buf& io, int format, model_state& state)
{
  if (format == FORMAT_WITHOUT_ARITHMETIC) { return read_into(io, state.loss.emplace()); }
  arithmetic_block numbers;
  if (format < FORMAT) { return true; }
  if (!read_into(io, numbers)) { return false; }
  state.arithmetic = numbers.arithmetic;
  state.weights_in_table = numbers.weights_in_table;
  if (numbers.has_loss != 0) { state.loss = numbers.loss; }
  return true;
}

[[noreturn]] void refuse_later(const package_version& version)
{
  THROW("the model was made by version " << std::string(version.data(), strnlen(version.data(), version.size()))
                                         << " of vw-fastcb, and this is version " << VW_FASTCB_VERSION
                                         << ", which cannot read it. Use that version, or a later one.");
}

model_state read_block(VW::LEARNER::learner& below, VW::io_buf& io)
{
  block_start start{};
  const bool started = read_into(io, start);
  const int format = started ? format_of(start) : 0;
  package_version version{};
  state_block block;
  const bool whole = format == FORMAT_WITHOUT_VERSION || (format > 0 && read_into(io, version));
  if (whole && format > FORMAT) { refuse_later(version); }
  model_state state;
  if (!whole || !read_into(io, block) || (format > FORMAT_WITHOUT_NOTE && !read_text(io, state.note)) ||
      (format > FORMAT_WITHOUT_ORACLE && !read_text(io, state.oracle)) || !read_end(io, format, state))
  {
    THROW(
        "the model has no FastCB state: it was not made by --fastcb, or the file is truncated. Start a new model "
        "with --fastcb, or load this one without it.");
  }
  auto rest = rest_of(io);
  if (rest.size() != block.bytes_below || block.seal != seal_of(version, block, state, rest))
  {
    THROW("the model file is damaged: " << block.bytes_below << " bytes of weights were saved and " << rest.size()
                                        << " were found"
                                        << (rest.size() == block.bytes_below ? ", not the same ones" : "")
                                        << ". Use an intact copy.");
  }
  if (state.arithmetic > ARITHMETIC) { refuse_later(version); }
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
  state.counts = block.counts;
  return state;
}

void write_block(const model_state& state, VW::LEARNER::learner& below, VW::io_buf& io)
{
  const auto bytes = serialized(below);
  state_block block;
  block.counts = state.counts;
  block.bytes_below = bytes.size();
  const auto names = names_of(below);
  block.stack_below = fnv1a(names.data(), names.size());
  block.seal = seal_of(this_version(), block, state, bytes);
  const int format = state.arithmetic > 0   ? FORMAT
                     : state.loss           ? FORMAT_WITHOUT_ARITHMETIC
                     : state.oracle.empty() ? FORMAT_WITHOUT_ORACLE
                                            : FORMAT_WITHOUT_LOSS;
  write(io, start_of(format));
  write(io, this_version());
  write(io, block);
  write_text(io, state.note);
  if (format > FORMAT_WITHOUT_ORACLE) { write_text(io, state.oracle); }
  if (format == FORMAT_WITHOUT_ARITHMETIC) { write(io, *state.loss); }
  if (format == FORMAT) { write(io, arithmetic_of(state)); }
}
}  // namespace

void save_load_state(model_state& state, VW::LEARNER::learner& below, VW::io_buf& io, bool read, bool text)
{
  if (io.num_files() == 0) { return; }
  if (read) { state = read_block(below, io); }
  else if (text) { VW::model_utils::write_model_field(io, state.counts.events, "fastcb events learned", text); }
  else { write_block(state, below, io); }
}
}  // namespace vw_fastcb
