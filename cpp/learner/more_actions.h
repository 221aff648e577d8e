// A model of fixed actions, made ready for more of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vw_fastcb
{
// The model with `actions` actions instead of fewer: the first ones are as they were, bit for bit, the others have
// learned nothing, their weights are zero. `note` takes the place of the model's own. Throws std::invalid_argument
// where the model cannot have more actions, and what reading it throws.
std::vector<char> with_more_actions(std::string_view model, uint32_t actions, const std::string& note);
}  // namespace vw_fastcb
