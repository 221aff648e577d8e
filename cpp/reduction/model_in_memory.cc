#include "model_in_memory.h"

#include <optional>

namespace vw_fastcb
{
namespace
{
thread_local std::optional<std::string_view> at_hand;
}

model_in_memory::model_in_memory(std::string_view bytes) { at_hand = bytes; }

model_in_memory::~model_in_memory() { at_hand.reset(); }

std::unique_ptr<VW::io::reader> open_model(const std::string& name)
{
  if (at_hand && name == model_in_memory::NAME) { return VW::io::create_buffer_view(at_hand->data(), at_hand->size()); }
  return VW::io::open_file_reader(name);
}
}  // namespace vw_fastcb
