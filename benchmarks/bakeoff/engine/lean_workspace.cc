#include "lean_workspace.h"

#include "vw/config/options_cli.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/reduction_stack.h"
#include "vw/core/vw.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace vw_fastcb
{
namespace
{
using names = std::set<std::string>;

// VW's list of reductions without those that do not take part.
class lean_stack : public VW::default_reduction_stack_setup
{
public:
  lean_stack() = default;

  // A copy of the whole list: making it anew costs as much as asking everyone.
  std::unique_ptr<lean_stack> only(const names& wanted) const
  {
    auto lean = std::make_unique<lean_stack>(*this);
    auto& stack = lean->_reduction_stack;
    stack.erase(std::remove_if(stack.begin(), stack.end(),
                    [&wanted](const auto& reduction) { return wanted.count(std::get<0>(reduction)) == 0; }),
        stack.end());
    return lean;
  }

  names all() const
  {
    names of_stack;
    for (const auto& reduction : _reduction_stack) { of_stack.insert(std::get<0>(reduction)); }
    return of_stack;
  }
};

const lean_stack& whole_stack()
{
  static const lean_stack stack;
  return stack;
}

// Flags whose numbers no reduction looks at to see whether it takes part. A grid runs over them.
bool has_plain_number(const std::string& flag)
{
  static const names plain{"-l", "--learning_rate", "-b", "--bit_precision", "--gamma_scale", "--gamma_exponent",
      "--mellowness", "--epsilon", "--power_t", "--initial_t", "--random_seed"};
  return plain.count(flag) > 0;
}

// What decides which reductions take part: all words but plain numbers. The value of a flag can decide as well:
// `-q ::` needs a reduction that `-q ab` does not.
std::string deciding_words(const std::vector<std::string>& arguments)
{
  std::string result;
  bool is_plain_number = false;
  for (const auto& word : arguments)
  {
    if (is_plain_number)
    {
      is_plain_number = false;
      continue;
    }
    const auto equals = word.find('=');
    const auto flag = word.substr(0, equals);
    const bool plain = has_plain_number(flag);
    is_plain_number = plain && equals == std::string::npos;
    result += (plain ? flag : word) + '\n';
  }
  return result;
}

// The reductions that take part in a workspace. A learner is called as its reduction, or that and '-' and a variant.
names taking_part(const VW::workspace& all)
{
  std::vector<std::string> learners;
  all.l->get_enabled_learners(learners);
  names result;
  for (const auto& reduction : whole_stack().all())
  {
    const bool enabled = std::any_of(learners.begin(), learners.end(),
        [&](const std::string& learner) { return learner == reduction || learner.rfind(reduction + "-", 0) == 0; });
    if (enabled) { result.insert(reduction); }
  }
  return result;
}

class known_stacks
{
public:
  const names* find(const std::string& flags)
  {
    const std::lock_guard<std::mutex> lock(_mutex);
    const auto at = _reductions.find(flags);
    return at == _reductions.end() ? nullptr : &at->second;
  }
  void add(const std::string& flags, names reductions)
  {
    const std::lock_guard<std::mutex> lock(_mutex);
    _reductions.emplace(flags, std::move(reductions));
  }

private:
  std::mutex _mutex;
  std::map<std::string, names> _reductions;  // by flags; its entries stay where they are
};

std::vector<std::string> learners_of(const VW::workspace& all)
{
  std::vector<std::string> result;
  all.l->get_enabled_learners(result);
  return result;
}

std::unique_ptr<VW::workspace> make(const std::vector<std::string>& arguments, std::unique_ptr<lean_stack> stack)
{
  auto flags = arguments;
  // No parser will run: one example in its pool instead of 256, which would take longer to make than all the rest.
  for (const auto* word : {"--quiet", "--no_stdin", "--example_queue_limit", "1"}) { flags.emplace_back(word); }
  return VW::initialize_experimental(
      std::make_unique<VW::config::options_cli>(flags), nullptr, nullptr, nullptr, nullptr, std::move(stack));
}
}  // namespace

std::unique_ptr<VW::workspace> make_lean_workspace(const std::vector<std::string>& arguments)
{
  static known_stacks stacks;
  const auto flags = deciding_words(arguments);
  if (const auto* wanted = stacks.find(flags)) { return make(arguments, whole_stack().only(*wanted)); }
  auto whole = make(arguments, nullptr);
  auto wanted = taking_part(*whole);
  // Only where the short list builds the same learners is it worth knowing.
  try
  {
    const auto lean = make(arguments, whole_stack().only(wanted));
    if (learners_of(*lean) != learners_of(*whole)) { wanted = whole_stack().all(); }
  }
  catch (const std::exception&)
  {
    wanted = whole_stack().all();  // a flag that belongs to a reduction which does not take part
  }
  stacks.add(flags, std::move(wanted));
  return whole;
}
}  // namespace vw_fastcb
