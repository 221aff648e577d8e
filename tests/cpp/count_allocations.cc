// Preloaded into vw-fastcb by tests/python/test_hot_path.py: counts calls of malloc and its kin and prints them at
// exit.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace
{
std::atomic<unsigned long> calls{0};

struct report_at_exit
{
  ~report_at_exit()
  {
    char text[64];
    const int length = std::snprintf(text, sizeof(text), "allocations: %lu\n", calls.load());
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) { std::abort(); }
  }
} report;

template <typename Function>
Function next(const char* name)
{
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" void* malloc(size_t size)
{
  static const auto real = next<void* (*)(size_t)>("malloc");
  ++calls;
  return real(size);
}

extern "C" void* realloc(void* memory, size_t size)
{
  static const auto real = next<void* (*)(void*, size_t)>("realloc");
  ++calls;
  return real(memory, size);
}
