// The file that a model is saved to. It is written under another name first and then takes the place of the old one in
// one step, so that whatever stands under the model's own name is a complete model, even where a save is killed.
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
  // `strict` follows links and refuses what is not a regular file, as check_model_path does. Stock VW does neither.
  model_file(const std::string& path, bool strict);

  // Removes what was written unless `replace` has put it in its place.
  ~model_file();
  model_file(const model_file&) = delete;
  model_file& operator=(const model_file&) = delete;

  std::unique_ptr<VW::io::writer> open();

  // To be called when everything is written and closed.
  void replace();

private:
  std::string _path;
  std::string _temporary;  // unlike that of any other save: several processes may save to one path
  bool _is_written = false;
};
}  // namespace vw_fastcb
