// Tests of C++ that need neither VW nor Python: functions with expectations, listed by themselves. tests/python/
// test_cpp_units.py compiles and runs them.
#pragma once

#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace unit_tests
{
struct unit_test
{
  const char* name;
  void (*run)();
};

inline std::vector<unit_test>& all()
{
  static std::vector<unit_test> listed;
  return listed;
}

inline bool add(const char* name, void (*run)())
{
  all().push_back({name, run});
  return true;
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what)
{
  std::ostringstream text;
  text << file << ":" << line << ": " << what;
  throw std::runtime_error(text.str());
}

template <typename First, typename Second>
void expect_equal(const char* file, int line, const First& first, const Second& second)
{
  if (first == second) { return; }
  std::ostringstream text;
  text.precision(17);
  text << first << " is not " << second;
  fail(file, line, text.str());
}

inline void expect_near(const char* file, int line, double first, double second, double distance)
{
  if (std::fabs(first - second) <= distance) { return; }
  std::ostringstream text;
  text.precision(17);
  text << first << " is not " << second << ", but for " << distance;
  fail(file, line, text.str());
}
}  // namespace unit_tests

#define UNIT_TEST(name)                                               \
  static void name();                                                 \
  static const bool name##_is_listed = unit_tests::add(#name, &name); \
  static void name()
#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) { unit_tests::fail(__FILE__, __LINE__, "not " #condition); } \
  } while (false)
#define EXPECT_EQUAL(first, second) unit_tests::expect_equal(__FILE__, __LINE__, first, second)
#define EXPECT_NEAR(first, second, distance) unit_tests::expect_near(__FILE__, __LINE__, first, second, distance)
