#include "run.h"

#include "reading/event_reader.h"
#include "reduction/checked_writer.h"
#include "reduction/model_file.h"
#include "running_parser.h"
#include "strict/bad_event.h"
#include "strict/vw_messages.h"

#include "vw/common/vw_throw.h"
#include "vw/config/options_cli.h"
#include "vw/core/global_data.h"
#include "vw/core/learner.h"
#include "vw/core/parse_primitives.h"
#include "vw/core/parser.h"
#include "vw/core/shared_data.h"
#include "vw/core/version.h"
#include "vw/core/vw.h"
#include "vw/io/io_adapter.h"
#include "vw/io/logger.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>

namespace vw_fastcb
{
namespace
{
using workspaces = std::vector<std::unique_ptr<VW::workspace>>;

// The flags that belong to the driver and not to the workspace.
struct driver_flags
{
  bool onethread = false;
  std::string log_level;
  std::string log_output;

  VW::config::option_group_definition group()
  {
    using VW::config::make_option;
    VW::config::option_group_definition driver("Driver");
    driver.add(make_option("onethread", onethread).help("Parse and learn in one thread"));
    driver.add(make_option("log_level", log_level)
            .default_value("info")
            .hidden()
            .one_of({"info", "warn", "error", "critical", "off"})
            .help("Which log messages to show; overrides --quiet for them"));
    driver.add(make_option("log_output", log_output)
            .default_value("stdout")
            .hidden()
            .one_of({"stdout", "stderr", "compat"})
            .help("Where log messages go"));
    return driver;
  }
};

std::unique_ptr<VW::workspace> make_workspace(
    const std::vector<std::string>& arguments, driver_flags& driver, VW::io::logger& logger)
{
  auto options = std::make_unique<VW::config::options_cli>(arguments);
  options->add_and_parse(driver.group());
  logger.set_level(VW::io::get_log_level(driver.log_level));
  logger.set_location(VW::io::get_output_location(driver.log_output));
  auto workspace = VW::initialize(std::move(options));
  if (workspace->options->was_supplied("fastcb"))
  {
    // Now, and not after hours of learning.
    check_model_path(workspace->output_model_config.final_regressor_name);
    // VW reads a folder as an empty file.
    const auto& data = workspace->parser_runtime.data_filename;
    if (std::filesystem::is_directory(data)) { THROW("-d " << data << " is a folder. Give a file of events."); }
    for (auto& sink : workspace->output_runtime.final_prediction_sink)
    {
      sink = std::make_unique<checked_writer>(std::move(sink), "a prediction could not be written");
    }
  }
  workspace->runtime_config.vw_is_main = true;
  return workspace;
}

// `--args FILE`: one model per line, all learning from the same data.
workspaces make_workspaces_from_file(const std::string& path, driver_flags& driver, VW::io::logger& logger)
{
  std::ifstream file(path);
  if (!file) { THROW("the file of arguments " << path << " could not be opened."); }
  workspaces all;
  for (std::string line; std::getline(file, line);)
  {
    const auto arguments = line + " -f model." + std::to_string(all.size() + 1) + " --no_stdin";
    std::cout << arguments << std::endl;
    all.push_back(make_workspace(VW::split_command_line(arguments), driver, logger));
  }
  if (all.empty()) { THROW("the file of arguments " << path << " is empty. Give one model per line."); }
  return all;
}

void learn_from_input(workspaces& all, bool onethread)
{
  if (onethread)
  {
    if (all.size() > 1) { THROW("--onethread cannot be combined with several models (--args)."); }
    VW::LEARNER::generic_driver_onethread(*all[0]);
    return;
  }
  running_parser parser(*all[0]);
  if (all.size() == 1) { VW::LEARNER::generic_driver(*all[0]); }
  else
  {
    std::vector<VW::workspace*> pointers;
    for (auto& workspace : all) { pointers.push_back(workspace.get()); }
    VW::LEARNER::generic_driver(pointers);
  }
}

void rethrow_parser_failure(const workspaces& all)
{
  for (const auto& workspace : all)
  {
    const auto& failure = workspace->parser_runtime.example_parser->exc_ptr;
    if (failure) { std::rethrow_exception(failure); }
  }
}

void drive(workspaces& all, bool onethread)
{
  learn_from_input(all, onethread);
  rethrow_parser_failure(all);
  for (const auto& workspace : all)
  {
    if (const auto* reader = event_reader::of(*workspace)) { reader->report(); }
  }
}

void run(const std::vector<std::string>& arguments, VW::io::logger& logger)
{
  if (std::find(arguments.begin(), arguments.end(), "--version") != arguments.end())
  {
    std::cout << VW::VERSION.to_string() << " (git commit: " << VW::GIT_COMMIT << ")\nvw-fastcb " << VW_FASTCB_VERSION
              << std::endl;
    return;
  }
  driver_flags driver;
  workspaces all;
  if (arguments.size() == 2 && arguments[0] == "--args")
  {
    all = make_workspaces_from_file(arguments[1], driver, logger);
  }
  else { all.push_back(make_workspace(arguments, driver, logger)); }

  const bool dry_run = all[0]->options->get_typed_option<bool>("dry_run").value();
  if (!dry_run) { drive(all, driver.onethread); }
  for (auto& workspace : all)
  {
    if (!dry_run) { VW::sync_stats(*workspace); }
    workspace->finish();
  }
}
}  // namespace

int run_command_line(const std::vector<std::string>& arguments)
{
  auto logger = VW::io::create_default_logger();
  try
  {
    run(arguments, logger);
    return 0;
  }
  catch (const bad_event& e)
  {
    std::cerr << "vw-fastcb: " << e.what() << '\n';  // VW logs to stdout, where predictions may go
  }
  catch (const std::bad_alloc&)
  {
    std::cerr << "vw-fastcb: there is no more memory, and nothing was saved. Give the process more, or use a smaller "
                 "-b or shorter events.\n";
  }
  catch (const std::exception& e)
  {
    logger.err_critical("vw-fastcb: {}", explained(e.what()));
  }
  catch (...)
  {
    logger.err_critical("vw-fastcb: unknown exception");
  }
  return 1;
}
}  // namespace vw_fastcb
