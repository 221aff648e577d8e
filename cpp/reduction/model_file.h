// The file that a model is saved to. It is written under a temporary name first and then replaces the old file in one
// step. So the file under the model's own name is always a complete model, even if a save is killed.
#pragma once

#include "vw/io/io_adapter.h"

#include <memory>
#include <string>

namespace vw_fastcb
{
// Throws unless a model can be saved to `path`: a regular file, a link to one, or a name that is still free.
void check_model_path(const std::string& path);

class model_file
{
public:
  // `strict` follows links, refuses anything but a regular file, like check_model_path, and keeps the mode of a file
  // that is there. Stock VW does none of it.
  model_file(const std::string& path, bool strict);

  // Removes the temporary file unless `replace` was called.
  ~model_file();
  model_file(const model_file&) = delete;
  model_file& operator=(const model_file&) = delete;

  std::unique_ptr<VW::io::writer> open();

  // Call it when everything is written and closed.
  void replace();

private:
  std::string _path;
  bool _strict;
  std::string _temporary;  // a new name per save: several processes may save to one path
  bool _is_written = false;
};
}  // namespace vw_fastcb
