// For `make sanitize`. gcc's runtime for undefined behaviour prints to standard error, which tests swallow: beside the
// address sanitizer its log_path is ignored. Preloaded, this hears of each report, writes it to the folder in
// SANITIZE_REPORTS, and has the address sanitizer add the stack to its own log of the same process.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C"
{
  void __ubsan_get_current_report_data(
      const char** kind, const char** message, const char** file, unsigned* line, unsigned* column, char** address);
  void __sanitizer_print_stack_trace();

  __attribute__((visibility("default"))) void __ubsan_on_report()
  {
    const char *kind = nullptr, *message = nullptr, *file = nullptr;
    unsigned line = 0, column = 0;
    char* address = nullptr;
    __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
    const char* folder = std::getenv("SANITIZE_REPORTS");
    const std::string path = std::string(folder != nullptr ? folder : ".") + "/undefined." + std::to_string(getpid());
    if (std::FILE* log = std::fopen(path.c_str(), "a"))
    {
      std::fprintf(log, "%s:%u: runtime error: %s (%s)\n", file, line, message, kind);
      std::fclose(log);
    }
    __sanitizer_print_stack_trace();
  }
}
