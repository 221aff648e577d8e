// Preloaded by tests/python/loop/boundaries.py: counts what a process writes, syncs, makes, links and removes among the
// files whose path holds a name, and lets one of these calls fail, tear, or be the last thing that the process does.
// It also knows what was written and not synced yet, which is what a machine that loses its power loses.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace
{
enum fault
{
  none,
  no_space,      // this call and all later ones that need room, until disarmed
  io_error,      // this call
  torn,          // half of a write, then killed
  kill_before,   // killed
  kill_after,    // the call, then killed
  power_cut,     // everything that was not synced is lost, then killed
  shuffled_cut,  // some of it is lost
};

struct unsynced_write
{
  std::string path;
  off_t offset;
  std::string before, after;
  off_t size_before;
  bool is_truncation;
};

std::recursive_mutex mutex;
std::string watched;  // nothing is watched while it is empty
fault kind = none;
long at = 0;
long calls = 0;
bool is_full = false;
unsigned seed = 0;
int trace = -1;
std::vector<unsynced_write> unsynced;
std::vector<std::string> unsynced_names;  // of files that were made or linked; syncing the folder keeps them

template <typename Function>
Function next(const char* name)
{
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

ssize_t really_pwrite(int file, const void* bytes, size_t count, off_t offset)
{
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return real(file, bytes, count, offset);
}

int really_truncate(int file, off_t size)
{
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return real(file, size);
}

bool is_watched(const std::string& path) { return !watched.empty() && path.find(watched) != std::string::npos; }

std::string path_of(int file)
{
  if (watched.empty()) { return ""; }
  char link[64];
  char path[PATH_MAX];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const auto length = readlink(link, path, sizeof(path));
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

[[noreturn]] void die()
{
  kill(getpid(), SIGKILL);
  for (;;) { pause(); }
}

// SQLite maps its index of the log into memory, and makes a new one where no process is left. Not ours to lose.
bool is_index(const std::string& path) { return path.size() > 4 && path.compare(path.size() - 4, 4, "-shm") == 0; }

void lose_unsynced(bool only_some)
{
  static const auto real_open = next<int (*)(const char*, int, ...)>("open");
  for (auto one = unsynced.rbegin(); one != unsynced.rend(); ++one)
  {
    const int file = real_open(one->path.c_str(), O_RDWR);
    if (file < 0) { continue; }  // removed since
    really_pwrite(file, one->before.data(), one->before.size(), one->offset);
    really_truncate(file, one->size_before);
  }
  static const auto real_unlink = next<int (*)(const char*)>("unlink");
  for (const auto& name : unsynced_names)
  {
    if (!only_some) { real_unlink(name.c_str()); }
  }
  for (const auto& one : unsynced)
  {
    seed = seed * 1103515245u + 12345u;
    if (!only_some || ((seed >> 16) & 1) == 0) { continue; }
    const int file = real_open(one.path.c_str(), O_RDWR);
    if (file < 0) { continue; }
    if (one.is_truncation) { really_truncate(file, one.offset); }
    else { really_pwrite(file, one.after.data(), one.after.size(), one.offset); }
  }
  die();
}

void remember_write(int file, const std::string& path, const void* bytes, size_t count, off_t offset)
{
  struct stat found;
  if (is_index(path) || fstat(file, &found) != 0) { return; }
  std::string before(count, '\0');
  const auto read = pread(file, before.data(), count, offset);
  before.resize(read < 0 ? 0 : static_cast<size_t>(read));
  unsynced.push_back({path, offset, before, std::string(static_cast<const char*>(bytes), count), found.st_size, false});
}

void remember_truncation(int file, const std::string& path, off_t size)
{
  struct stat found;
  if (is_index(path) || fstat(file, &found) != 0) { return; }
  std::string before(static_cast<size_t>(std::max<off_t>(0, found.st_size - size)), '\0');
  const auto read = pread(file, before.data(), before.size(), size);
  before.resize(read < 0 ? 0 : static_cast<size_t>(read));
  unsynced.push_back({path, size, before, "", found.st_size, true});
}

void forget(const std::string& path)
{
  const auto is_same = [&path](const unsynced_write& one) { return one.path == path; };
  unsynced.erase(std::remove_if(unsynced.begin(), unsynced.end(), is_same), unsynced.end());
}

void forget_names(const std::string& path_or_folder)
{
  const auto is_meant = [&](const std::string& name)
  { return name == path_or_folder || name.substr(0, name.rfind('/')) == path_or_folder; };
  unsynced_names.erase(std::remove_if(unsynced_names.begin(), unsynced_names.end(), is_meant), unsynced_names.end());
}

// What was written under one name is now to be found under another.
void follow(const std::string& from, const std::string& to)
{
  for (auto& one : unsynced)
  {
    if (one.path == from) { one.path = to; }
  }
  unsynced_names.push_back(to);
}

// Counts one call, and lets happen what is due. Gives errno where the call is to fail.
struct turn
{
  turn(const char* name, const std::string& path, bool needs_room)
  {
    if (!is_watched(path)) { return; }
    ++calls;
    if (trace >= 0) { dprintf(trace, "%ld %s %s\n", calls, name, path.c_str()); }
    is_due = kind != none && calls == at;
    if (is_due && kind == kill_before) { die(); }
    if (is_due && (kind == power_cut || kind == shuffled_cut)) { lose_unsynced(kind == shuffled_cut); }
    if (is_due && kind == io_error) { error = EIO; }
    if (is_due && kind == no_space) { is_full = true; }
    if (is_full && needs_room) { error = ENOSPC; }
  }

  template <typename Result>
  Result done(Result result) const
  {
    if (is_due && (kind == kill_after || kind == torn)) { die(); }
    return result;
  }

  bool is_due = false;
  int error = 0;
};

template <typename Call>
auto guarded(const char* name, const std::string& path, bool needs_room, Call call) -> decltype(call())
{
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const turn mine(name, path, needs_room);
  if (mine.error != 0)
  {
    errno = mine.error;
    return -1;
  }
  return mine.done(call());
}

ssize_t guarded_write(const char* name, int file, const void* bytes, size_t count, off_t offset)
{
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto path = path_of(file);
  const turn mine(name, path, true);
  if (mine.error != 0)
  {
    errno = mine.error;
    return -1;
  }
  if (is_watched(path)) { remember_write(file, path, bytes, count, offset); }
  return mine.done(really_pwrite(file, bytes, mine.is_due && kind == torn ? count / 2 : count, offset));
}

int guarded_sync(const char* name, int file)
{
  const auto path = path_of(file);
  return guarded(name, path, false,
      [&]
      {
        const int result = next<int (*)(int)>(name)(file);
        if (result == 0) { forget(path); }
        if (result == 0) { forget_names(path); }
        return result;
      });
}

int guarded_truncate(int file, off_t size)
{
  struct stat found;
  const auto path = path_of(file);
  const bool grows = fstat(file, &found) == 0 && found.st_size < size;
  return guarded("ftruncate", path, grows,
      [&]
      {
        if (is_watched(path)) { remember_truncation(file, path, size); }
        return really_truncate(file, size);
      });
}

int guarded_open(int folder, const char* path, int flags, mode_t mode)
{
  static const auto real = next<int (*)(int, const char*, int, ...)>("openat");
  const bool makes = (flags & O_CREAT) != 0 && !watched.empty() && faccessat(folder, path, F_OK, 0) != 0;
  return guarded("open", makes ? path : "", true,
      [&]
      {
        const int file = real(folder, path, flags, mode);
        if (makes && file >= 0 && is_watched(path)) { unsynced_names.emplace_back(path); }
        return file;
      });
}

mode_t mode_of(int flags, va_list& rest)
{
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(rest, int)) : 0;
}
}  // namespace

extern "C"
{
  // Watches paths that hold `name`, none where it is empty. The n-th call from now gets the fault.
  void faults_arm(const char* name, int given_kind, long n, unsigned given_seed, int trace_to)
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    watched = name;
    kind = static_cast<fault>(given_kind);
    at = n;
    calls = 0;
    is_full = false;
    seed = given_seed;
    trace = trace_to;
    unsynced.clear();
    unsynced_names.clear();
  }

  // No fault any more, and room again. Counting goes on.
  void faults_heal()
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    kind = none;
    is_full = false;
  }

  long faults_calls() { return calls; }

  ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset)
  {
    return guarded_write("pwrite", file, bytes, count, offset);
  }

  ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset)
  {
    return guarded_write("pwrite", file, bytes, count, offset);
  }

  ssize_t write(int file, const void* bytes, size_t count)
  {
    static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
    if (watched.empty() || !is_watched(path_of(file))) { return real(file, bytes, count); }
    const auto written = guarded_write("write", file, bytes, count, lseek(file, 0, SEEK_CUR));
    if (written > 0) { lseek(file, written, SEEK_CUR); }
    return written;
  }

  ssize_t writev(int file, const struct iovec* parts, int count)
  {
    static const auto real = next<ssize_t (*)(int, const struct iovec*, int)>("writev");
    if (watched.empty() || !is_watched(path_of(file))) { return real(file, parts, count); }
    std::string all;
    for (int i = 0; i < count; ++i) { all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len); }
    return write(file, all.data(), all.size());
  }

  int fsync(int file) { return guarded_sync("fsync", file); }

  int fdatasync(int file) { return guarded_sync("fdatasync", file); }

  int ftruncate(int file, off_t size) { return guarded_truncate(file, size); }

  int ftruncate64(int file, off_t size) { return guarded_truncate(file, size); }

  int rename(const char* from, const char* to)
  {
    static const auto real = next<int (*)(const char*, const char*)>("rename");
    return guarded("rename", to, true,
        [&]
        {
          follow(from, to);
          return real(from, to);
        });
  }

  int link(const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

  // Python's os.link.
  int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags)
  {
    static const auto real = next<int (*)(int, const char*, int, const char*, int)>("linkat");
    return guarded("link", to, true,
        [&]
        {
          const int result = real(from_folder, from, to_folder, to, flags);
          if (result == 0) { follow(from, to); }
          return result;
        });
  }

  int unlink(const char* path)
  {
    static const auto real = next<int (*)(const char*)>("unlink");
    return guarded("unlink", path, false,
        [&]
        {
          forget(path);
          forget_names(path);
          return real(path);
        });
  }

  int open(const char* path, int flags, ...)
  {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_of(flags, rest);
    va_end(rest);
    return guarded_open(AT_FDCWD, path, flags, mode);
  }

  int open64(const char* path, int flags, ...)
  {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_of(flags, rest);
    va_end(rest);
    return guarded_open(AT_FDCWD, path, flags, mode);
  }

  int openat(int folder, const char* path, int flags, ...)
  {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_of(flags, rest);
    va_end(rest);
    return guarded_open(folder, path, flags, mode);
  }
}
