#include "real.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace simrtc {
namespace {

const char* library() {
    return getenv("ISOBAR_SIM_NVRTC");
}

// Its functions.
struct Real {
    int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
    int (*compile)(void*, int, const char* const*);
    int (*logSize)(void*, size_t*);
    int (*log)(void*, char*);
    int (*ptxSize)(void*, size_t*);
    int (*ptx)(void*, char*);
    int (*destroy)(void**);
    std::string problem;

    Real() {
        // NVRTC looks for this library by its name alone, and finds it if it is loaded already.
        for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(library()).parent_path())) {
            if (file.path().filename().string().rfind("libnvrtc-builtins", 0) == 0) {
                dlopen(file.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
            }
        }
        void* handle = dlopen(library(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        if (handle == nullptr) {
            problem = dlerror();
            return;
        }
        find(create, handle, "nvrtcCreateProgram");
        find(compile, handle, "nvrtcCompileProgram");
        find(logSize, handle, "nvrtcGetProgramLogSize");
        find(log, handle, "nvrtcGetProgramLog");
        find(ptxSize, handle, "nvrtcGetPTXSize");
        find(ptx, handle, "nvrtcGetPTX");
        find(destroy, handle, "nvrtcDestroyProgram");
    }

    template <class F> void find(F*& function, void* handle, const char* name) {
        function = reinterpret_cast<F*>(dlsym(handle, name));
        if (function == nullptr) {
            problem = std::string("no function ") + name + " in " + library();
        }
    }
};

const Real& real() {
    static const Real once;
    return once;
}

// PTX does not need the assembler, which sm_90 would run.
std::vector<std::string> virtualArchitecture(const Options& options, int count, const char* const* given) {
    std::vector<std::string> rewritten;
    for (int i = 0; i < count; ++i) {
        std::string option = given[i];
        bool architecture = option.rfind("--gpu-architecture=", 0) == 0;
        rewritten.push_back(architecture ? "--gpu-architecture=compute_" + std::to_string(options.architecture)
            : option);
    }
    std::istringstream more(getenv("ISOBAR_SIM_NVRTC_OPTIONS") == nullptr ? "" : getenv("ISOBAR_SIM_NVRTC_OPTIONS"));
    for (std::string option; more >> option;) {
        rewritten.push_back(option);
    }
    return rewritten;
}

std::string read(void* program, int (*size)(void*, size_t*), int (*content)(void*, char*)) {
    size_t bytes = 0;
    size(program, &bytes);
    std::string text(bytes, 0);
    content(program, text.data());
    return text.substr(0, text.find('\0'));
}

}  // namespace

bool realCompiles(const Options& options) {
    return library() != nullptr && *library() != 0 && options.definitions.find("-DSIM_CXX") == std::string::npos;
}

Result compileReal(Program& program, const Options& options, int count, const char* const* given) {
    const Real& nvrtc = real();
    if (!nvrtc.problem.empty()) {
        program.log = "ISOBAR_SIM_NVRTC: " + nvrtc.problem + "\n";
        return Result::COMPILATION;
    }
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const Header& header : program.headers) {
        texts.push_back(header.text.c_str());
        names.push_back(header.name.c_str());
    }
    void* made = nullptr;
    nvrtc.create(&made, program.source.c_str(), program.name.c_str(), static_cast<int>(names.size()), texts.data(),
        names.data());
    std::vector<std::string> rewritten = virtualArchitecture(options, count, given);
    std::vector<const char*> arguments;
    for (const std::string& option : rewritten) {
        arguments.push_back(option.c_str());
    }
    int result = nvrtc.compile(made, static_cast<int>(arguments.size()), arguments.data());
    program.log = read(made, nvrtc.logSize, nvrtc.log);
    program.object = result != 0 ? "" : "// " + program.name + options.definitions + "\n"
        + read(made, nvrtc.ptxSize, nvrtc.ptx) + '\0';
    nvrtc.destroy(&made);
    return result == 0 ? Result::SUCCESS : static_cast<Result>(result);
}

}  // namespace simrtc
