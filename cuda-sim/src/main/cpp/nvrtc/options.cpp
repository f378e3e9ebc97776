#include <cstdlib>
#include <cstring>

#include "program.h"

namespace simrtc {
namespace {

bool starts(const std::string& text, const char* prefix) {
    return text.rfind(prefix, 0) == 0;
}

// The value after the prefix, or the next option if the value is given separately.
std::string value(const std::string& option, const char* prefix, int count, const char* const* options, int& i) {
    std::string rest = option.substr(strlen(prefix));
    if (!rest.empty() && rest[0] == '=') {
        return rest.substr(1);
    }
    return rest.empty() && i + 1 < count ? options[++i] : rest;
}

bool ignored(const std::string& option) {
    for (const char* known : {"--fmad", "-fmad", "-lineinfo", "--generate-line-info", "--ptxas-options", "-Xptxas",
            "--extra-device-vectorization", "-default-device", "--device-as-default-execution-space", "--relocatable",
            "-dlto", "--restrict", "--maxrregcount", "--diag-suppress", "-diag-suppress", "--no-cache", "-w",
            "--disable-warnings", "--extensible-whole-program", "--split-compile", "--minimal", "-minimal", "--ftz",
            "--prec-div", "--prec-sqrt"}) {
        if (starts(option, known)) {
            return true;
        }
    }
    return false;
}

}  // namespace

Options readOptions(int count, const char* const* options) {
    Options read;
    for (int i = 0; i < count; ++i) {
        std::string option = options[i];
        if (starts(option, "--std") || starts(option, "-std")) {
            const char* name = starts(option, "--") ? "--std" : "-std";
            read.arguments.push_back("-std=" + value(option, name, count, options, i));
        } else if (starts(option, "--gpu-architecture") || starts(option, "-arch")) {
            std::string name = value(option, starts(option, "--") ? "--gpu-architecture" : "-arch", count, options, i);
            size_t digits = name.find('_');
            read.architecture = digits == std::string::npos ? 0 : atoi(name.c_str() + digits + 1);
        } else if (starts(option, "-D") || starts(option, "--define-macro")) {
            std::string macro = value(option, starts(option, "-D") ? "-D" : "--define-macro", count, options, i);
            size_t equals = macro.find('=');
            read.macros += "#define " + macro.substr(0, equals) + " "
                + (equals == std::string::npos ? "1" : macro.substr(equals + 1)) + "\n";
            read.definitions += " -D" + macro;
        } else if (starts(option, "-U") || starts(option, "--undefine-macro")) {
            const char* name = starts(option, "-U") ? "-U" : "--undefine-macro";
            read.macros += "#undef " + value(option, name, count, options, i) + "\n";
        } else if (starts(option, "-I") || starts(option, "--include-path")) {
            read.arguments.push_back("-I" + value(option, starts(option, "-I") ? "-I" : "--include-path", count,
                options, i));
        } else if (!ignored(option) && read.unknown.empty()) {
            read.unknown = option;
        }
    }
    return read;
}

}  // namespace simrtc
