# For a build on x86-64 of what runs on 64-bit ARM; the compiler is Debian's g++-aarch64-linux-gnu, or one of that name.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
