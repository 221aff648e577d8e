#include "run.h"

int main(int argc, char* argv[]) { return vw_fastcb::run_command_line({argv + 1, argv + argc}); }
