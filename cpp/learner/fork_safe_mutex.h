// A mutex that a fork finds free: fork waits until nobody is inside, so that in the child it is not held by a thread
// that is not there, and what it guards is whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include <pthread.h>

namespace vw_fastcb
{
class fork_safe_mutex
{
public:
  fork_safe_mutex()
  {
    const std::lock_guard<std::mutex> lock(all().mutex);
    all().members.insert(this);
  }
  ~fork_safe_mutex()
  {
    const std::lock_guard<std::mutex> lock(all().mutex);
    all().members.erase(this);
  }
  fork_safe_mutex(const fork_safe_mutex&) = delete;
  fork_safe_mutex& operator=(const fork_safe_mutex&) = delete;

  // How many forks this process has come through as the child.
  static uint64_t forks() { return all().forks.load(std::memory_order_relaxed); }

  void lock() { _mutex.lock(); }
  bool try_lock() { return _mutex.try_lock(); }
  void unlock() { _mutex.unlock(); }

private:
  struct registry
  {
    registry() { pthread_atfork(before_fork, after_fork, after_fork_in_child); }
    std::mutex mutex;
    std::atomic<uint64_t> forks{0};
    std::set<fork_safe_mutex*> members;
  };
  static registry& all()
  {
    static auto* const everyone = new registry;  // never destroyed: a fork may come while the program ends
    return *everyone;
  }
  static void before_fork()
  {
    all().mutex.lock();
    for (auto* member : all().members) { member->lock(); }
  }
  static void after_fork()
  {
    for (auto* member : all().members) { member->unlock(); }
    all().mutex.unlock();
  }
  static void after_fork_in_child()
  {
    ++all().forks;
    after_fork();
  }

  std::mutex _mutex;
};
}  // namespace vw_fastcb
