// A file whose failed writes are errors. VW goes on where a prediction cannot be written, on a full disk for example,
// and says "Failed to write example" of a model.
#pragma once

#include "vw/common/vw_throw.h"
#include "vw/io/io_adapter.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace vw_fastcb
{
class checked_writer final : public VW::io::writer
{
public:
  // `complaint` begins the message, as in "the model could not be saved to X".
  checked_writer(std::unique_ptr<VW::io::writer> inner, std::string complaint)
      : _inner(std::move(inner))
      , _complaint(std::move(complaint))
  {
  }

  // A full disk takes a part of what it is given first. Only the next write fails and says why.
  ssize_t write(const char* buffer, size_t num_bytes) override
  {
    for (size_t done = 0; done < num_bytes;)
    {
      const auto written = _inner->write(buffer + done, num_bytes - done);
      if (written <= 0) { THROW(_complaint << ": " << std::strerror(errno) << "."); }
      done += static_cast<size_t>(written);
    }
    return static_cast<ssize_t>(num_bytes);
  }
  void flush() override { _inner->flush(); }

private:
  std::unique_ptr<VW::io::writer> _inner;
  std::string _complaint;
};
}  // namespace vw_fastcb
