// Compiles with the host's compiler in a temporary folder, which is then deleted: preprocess, find the kernels,
// append their entries, compile, link.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "program.h"

// The headers beside this library's source are embedded in the library.
#define EMBED(symbol, file) \
    asm(".section .rodata\n" #symbol ":\n.incbin \"" file "\"\n" #symbol "_end:\n.byte 0\n.previous\n"); \
    extern "C" const char symbol[] __attribute__((visibility("hidden"))); \
    extern "C" const char symbol##_end[] __attribute__((visibility("hidden")));

EMBED(sim_text_device, "sim_device.h")
EMBED(sim_text_runtime, "sim_runtime.h")
EMBED(sim_text_math, "sim_math.h")
EMBED(sim_text_vectors, "sim_vectors.h")
EMBED(sim_text_ptx, "ptx.cuh")

extern char** environ;

namespace simrtc {
namespace {

namespace fs = std::filesystem;

constexpr int OLDEST_ARCHITECTURE = 80;
constexpr const char* PTX = "ptx.cuh";

struct Folder {
    fs::path path;
    Folder() {
        std::string name = (fs::temp_directory_path() / "isobar-sim-XXXXXX").string();
        path = mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
}

// Runs a command in the folder; returns whether it succeeded. Its output is added to the log.
bool run(const Folder& folder, const std::vector<std::string>& command, std::string& log) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    fs::path said = folder.path / "said";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.path.c_str());
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said.c_str(), 01101, 0600);  // O_WRONLY O_CREAT O_TRUNC
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        log += "cannot run " + command[0] + " (ISOBAR_SIM_CXX names the compiler)\n";
        return false;
    }
    int status = 0;
    waitpid(child, &status, 0);
    log += contents(said);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string compiler() {
    const char* named = getenv("ISOBAR_SIM_CXX");
    return named != nullptr && *named != 0 ? named : "g++";
}

// The folder of this library, which also holds libcuda.so.1 with the functions that kernels call.
std::string libraryFolder() {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&libraryFolder), &info);
    return fs::absolute(info.dli_fname).parent_path().string();
}

void writeSources(const Program& program, const Options& options, const Folder& folder) {
    write(folder.path / "sim_macros.h", options.macros);
    write(folder.path / "sim_device.h", {sim_text_device, sim_text_device_end});
    write(folder.path / "sim_runtime.h", {sim_text_runtime, sim_text_runtime_end});
    write(folder.path / "sim_math.h", {sim_text_math, sim_text_math_end});
    write(folder.path / "sim_vectors.h", {sim_text_vectors, sim_text_vectors_end});
    for (const Header& header : program.headers) {
        bool twin = header.name == PTX;
        write(folder.path / header.name, twin ? std::string(sim_text_ptx, sim_text_ptx_end) : header.text);
    }
    write(folder.path / program.name, program.source);
}

// Constants that the driver reads from a program: its title and its architecture.
std::string titleOf(const Program& program, const Options& options) {
    return "#pragma GCC visibility push(default)\nextern \"C\" {\n"
        "extern const char sim_program[]; const char sim_program[] = R\"title(" + program.name + options.definitions
        + ")title\";\nextern const int sim_architecture; const int sim_architecture = "
        + std::to_string(options.architecture) + ";\n}\n#pragma GCC visibility pop\n";
}

}  // namespace

Result compile(Program& program, const Options& options) {
    program.log.clear();
    program.object.clear();
    if (!options.unknown.empty() || options.architecture < OLDEST_ARCHITECTURE) {
        program.log = options.unknown.empty() ? "nvrtc: error: invalid value for --gpu-architecture: sm_80 and up\n"
            : "nvrtc: error: unrecognized option " + options.unknown + " found\n";
        return Result::INVALID_OPTION;
    }
    Folder folder;
    writeSources(program, options, folder);
    std::vector<std::string> preprocess = {compiler(), "-std=c++17", "-nostdinc", "-I.", "-include", "sim_device.h",
        "-include", "sim_macros.h", "-DSIM_ARCHITECTURE=" + std::to_string(10 * options.architecture)};
    preprocess.insert(preprocess.end(), options.arguments.begin(), options.arguments.end());
    preprocess.insert(preprocess.end(), {"-x", "c++", "-E", program.name, "-o", "sim_program.ii"});
    if (!run(folder, preprocess, program.log)) {
        return Result::COMPILATION;
    }
    std::string text = contents(folder.path / "sim_program.ii");
    text += "\n# 1 \"sim_entries.h\"\n" + entriesOf(text) + titleOf(program, options);
    write(folder.path / "sim_program.ii", text);
    // A kernel runs for a moment, so optimizations that take a quarter of its compilation are left out. Without them,
    // the same accesses are checked.
    if (!run(folder, {compiler(), "-std=c++17", "-fpreprocessed", "-O2", "-g1", "-w", "-fPIC", "-ffp-contract=off",
            "-fvisibility=hidden", "-fno-gnu-unique", "-fno-exceptions", "-fno-rtti", "-fno-plt",
            "-fno-strict-aliasing", "-fno-schedule-insns2", "-fno-gcse", "-fno-tree-pre", "-fno-tree-vectorize",
            "-fno-expensive-optimizations", "-fsanitize=thread,alignment,bounds,integer-divide-by-zero",
            "--param=tsan-instrument-func-entry-exit=0",
            "-c", "sim_program.ii", "-o", "sim_program.o"}, program.log)
        || !run(folder, {compiler(), "-shared", "-nostdlib", "-Wl,-z,now", "-Wl,-Bsymbolic", "sim_program.o", "-o",
            "sim_program.so", "-L" + libraryFolder(), "-l:libcuda.so.1", "-lm", "-lc"}, program.log)) {
        return Result::COMPILATION;
    }
    program.object = contents(folder.path / "sim_program.so");
    return Result::SUCCESS;
}

}  // namespace simrtc
