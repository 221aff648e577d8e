// The engine is compiled with AVX2, as VW's own wheel is. On a processor without it the program would end by SIGILL,
// and the first such instruction may stand in any static constructor. This file is compiled without AVX2 and goes
// first.
#if defined(__x86_64__)
#include <unistd.h>

#include <string_view>

namespace
{
constexpr std::string_view NO_AVX2 =
    "vw-fastcb: this processor has no AVX2 instructions, and the engine needs them, as VW's own wheel does.\n"
    "Run it on a processor that has them: Intel's since 2013 (Haswell), AMD's since 2015 (Excavator).\n";

__attribute__((constructor(101))) void refuse_without_avx2()
{
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) { return; }
  const auto written = write(STDERR_FILENO, NO_AVX2.data(), NO_AVX2.size());
  _exit(written < 0 ? 2 : 1);
}
}  // namespace
#endif
