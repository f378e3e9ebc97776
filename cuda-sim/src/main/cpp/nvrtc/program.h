// A program that is compiled from CUDA C++ to a shared object of the host.
#pragma once

#include <string>
#include <vector>

namespace simrtc {

enum class Result { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5,
    COMPILATION = 6 };

struct Header {
    std::string name;
    std::string text;
};

struct Program {
    std::string source;
    std::string name;
    std::vector<Header> headers;
    std::string log;
    std::string object;  // "the cubin"
};

// NVRTC's options, translated to g++'s.
struct Options {
    std::vector<std::string> arguments;
    std::string macros;       // #define and #undef, a line each: they must not reach our own headers
    std::string definitions;  // for messages
    int architecture = 75;    // NVRTC's own default, which is refused
    std::string unknown;      // the first option that is not known, or empty
};
Options readOptions(int count, const char* const* options);

Result compile(Program& program, const Options& options);

// The kernels of a preprocessed program, each as the text of its entry, a definition of sim_kernel_<name>.
std::string entriesOf(const std::string& preprocessed);

}  // namespace simrtc
