// NVRTC's functions.
#include <cstring>
#include <exception>

#include "program.h"
#include "real.h"

using namespace simrtc;

#define SIM_API extern "C" __attribute__((visibility("default")))

namespace {

int code(Result result) {
    return static_cast<int>(result);
}

}  // namespace

SIM_API int nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = 1;
    return 0;
}

SIM_API const char* nvrtcGetErrorString(int result) {
    switch (static_cast<Result>(result)) {
        case Result::SUCCESS: return "NVRTC_SUCCESS";
        case Result::OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
        case Result::INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case Result::INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
        case Result::INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
        case Result::COMPILATION: return "NVRTC_ERROR_COMPILATION";
    }
    return "NVRTC_ERROR unknown";
}

SIM_API int nvrtcGetNumSupportedArchs(int* count) {
    *count = 5;
    return 0;
}

SIM_API int nvrtcGetSupportedArchs(int* architectures) {
    const int supported[] = {80, 86, 89, 90, 100};
    memcpy(architectures, supported, sizeof supported);
    return 0;
}

SIM_API int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers,
    const char* const* texts, const char* const* names) {
    if (program == nullptr || source == nullptr) {
        return code(Result::INVALID_INPUT);
    }
    auto made = new Program;
    made->source = source;
    made->name = name == nullptr || *name == 0 ? "default_program" : name;
    for (int i = 0; i < headers; ++i) {
        made->headers.push_back({names[i], texts[i]});
    }
    *program = made;
    return 0;
}

SIM_API int nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return 0;
}

SIM_API int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    try {
        Options read = readOptions(count, options);
        return code(realCompiles(read) ? compileReal(*program, read, count, options) : compile(*program, read));
    } catch (const std::exception& problem) {
        program->log += problem.what();
        return code(Result::OUT_OF_MEMORY);
    }
}

SIM_API int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
    *bytes = program->log.size() + 1;
    return 0;
}

SIM_API int nvrtcGetProgramLog(Program* program, char* log) {
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return 0;
}

SIM_API int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
    *bytes = program->object.size();
    return 0;
}

SIM_API int nvrtcGetCUBIN(Program* program, char* object) {
    memcpy(object, program->object.data(), program->object.size());
    return 0;
}
