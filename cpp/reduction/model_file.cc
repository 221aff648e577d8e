#include "model_file.h"

#include "checked_writer.h"

#include "vw/common/vw_throw.h"

#include "fmt/format.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

namespace vw_fastcb
{
namespace
{
namespace fs = std::filesystem;

std::string complaint(const std::string& path) { return "the model could not be saved to " + path; }

// The file that a link points to, even if it does not exist yet.
std::string target_of_links(const std::string& path)
{
  constexpr int MOST_LINKS = 40;  // as many as Linux follows
  fs::path file = path;
  std::error_code unknown;
  for (int i = 0; i < MOST_LINKS && fs::is_symlink(file, unknown); ++i)
  {
    file = file.parent_path() / fs::read_symlink(file, unknown);
  }
  return file.string();
}
}  // namespace

void check_model_path(const std::string& path)
{
  std::error_code unknown;
  const bool is_there = fs::exists(path, unknown);
  if (unknown == std::errc::too_many_symbolic_link_levels)
  {
    THROW(complaint(path) << ": it is a link that leads back to itself. Remove it, or give another name.");
  }
  if (path.empty() || !is_there) { return; }
  if (fs::is_directory(path, unknown)) { THROW(complaint(path) << ": it is a folder. Give the name of a file."); }
  if (!fs::is_regular_file(path, unknown))
  {
    THROW(complaint(path) << ": it is not a regular file. Give the name of one.");
  }
}

model_file::model_file(const std::string& path, bool strict)
    : _path(strict ? target_of_links(path) : path)
    , _strict(strict)
{
  if (strict) { check_model_path(_path); }
  _temporary = fmt::format("{}.{:08x}.writing", _path, std::random_device()());
}

model_file::~model_file()
{
  if (_is_written) { std::remove(_temporary.c_str()); }
}

std::unique_ptr<VW::io::writer> model_file::open()
{
  std::unique_ptr<VW::io::writer> writer;
  try
  {
    writer = VW::io::open_file_writer(_temporary);
  }
  catch (const VW::vw_exception& e)
  {
    // VW names the temporary file, and then the reason.
    constexpr const char* MARK = "errno = ";
    const std::string message = e.what();
    const auto mark = message.find(MARK);
    const auto reason = mark == std::string::npos ? message : message.substr(mark + std::strlen(MARK));
    THROW(complaint(_path) << ": " << reason << ".");
  }
  _is_written = true;
  if (_strict)
  {
    std::error_code unknown;  // not an error: some file systems have no modes
    const auto before = fs::status(_path, unknown);
    if (fs::exists(before)) { fs::permissions(_temporary, before.permissions(), unknown); }
  }
  return std::make_unique<checked_writer>(std::move(writer), complaint(_path));
}

void model_file::replace()
{
  if (std::rename(_temporary.c_str(), _path.c_str()) != 0)
  {
    THROW(complaint(_path) << ": " << std::strerror(errno) << ".");
  }
  _is_written = false;
}
}  // namespace vw_fastcb
