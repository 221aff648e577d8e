#include "unit_tests.h"

#include <cstring>
#include <iostream>

// Runs all tests, or those that are named; with --list it only names them.
int main(int count, char** words)
{
  int failed = 0;
  for (const auto& test : unit_tests::all())
  {
    bool wanted = count == 1;
    for (int i = 1; i < count; ++i) { wanted = wanted || std::strcmp(words[i], test.name) == 0; }
    if (count == 2 && std::strcmp(words[1], "--list") == 0)
    {
      std::cout << test.name << "\n";
      continue;
    }
    if (!wanted) { continue; }
    try
    {
      test.run();
      std::cout << "passed " << test.name << "\n";
    }
    catch (const std::exception& problem)
    {
      ++failed;
      std::cout << "FAILED " << test.name << ": " << problem.what() << "\n";
    }
  }
  return failed == 0 ? 0 : 1;
}
