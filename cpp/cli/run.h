// VW's command line on our engine. The program vw-fastcb and `python -m vw_fastcb` both run this.
#pragma once

#include <string>
#include <vector>

namespace vw_fastcb
{
// Takes the arguments after the program's name; returns the exit code. Never throws.
int run_command_line(const std::vector<std::string>& arguments);
}  // namespace vw_fastcb
