// A column of a frame, as vw_fastcb.learner.frames hands it on.
#pragma once

#include "learner/array_learner.h"

#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace vw_fastcb
{
// A frame's column: its numbers (NaN is missing), or codes (-1 is missing) and the words they stand for.
struct frame_column
{
  std::string name;
  uint64_t hash;
  const double* numbers;
  const int64_t* codes;
  std::vector<uint64_t> words;  // their hashes

  bool is_missing(size_t row) const { return codes != nullptr ? codes[row] < 0 : std::isnan(numbers[row]); }

  // The feature of a row that has a value: where it lies, and what it is, which may be 0.
  std::pair<uint64_t, float> feature(size_t row) const
  {
    if (codes != nullptr) { return {words[static_cast<size_t>(codes[row])], 1.f}; }
    return {hash, static_cast<float>(numbers[row])};
  }
};

frame_column read_column(const py::handle& column, const name_hash& names);
}  // namespace vw_fastcb
