#include "module.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "block.h"
#include "config.h"
#include "errors.h"
#include "ptx/machine.h"

extern "C" void* __tls_get_addr(void*);

namespace sim {

struct Variable {
    size_t offset;
    size_t bytes;
    std::string name;
};

struct Module {
    int file = -1;         // descriptor of the in-memory file with its bytes
    void* handle = nullptr;
    std::string program;   // file and definitions
    uintptr_t base = 0;    // where it is loaded
    uintptr_t end = 0;
    size_t sharedBytes = 0;
    std::vector<Variable> shared;
    std::shared_ptr<ptx::Program> code;  // if it is PTX; then it has no file
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

namespace {

std::set<Module*> modules;
std::set<Kernel*> kernels;

size_t imageBytes(const void* image) {
    auto header = static_cast<const ElfW(Ehdr)*>(image);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN) {
        refuse(INVALID_IMAGE, "what is loaded was not compiled by the simulated NVRTC (another machine's cache?)");
    }
    return header->e_shoff + static_cast<size_t>(header->e_shnum) * header->e_shentsize;
}

void writeAll(int file, const char* bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(file, bytes, count);
        if (written <= 0) {
            refuse(INVALID_IMAGE, "the program could not be written to memory");
        }
        bytes += written;
        count -= static_cast<size_t>(written);
    }
}

void readLayout(Module& module) {
    auto map = static_cast<link_map*>(nullptr);
    dlinfo(module.handle, RTLD_DI_LINKMAP, &map);
    module.base = map->l_addr;
    auto header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
    auto segments = reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff);
    for (int i = 0; i < header->e_phnum; ++i) {
        const auto& segment = segments[i];
        if (segment.p_type == PT_TLS) {
            module.sharedBytes = segment.p_memsz;
        } else if (segment.p_type == PT_LOAD) {
            module.end = std::max<uintptr_t>(module.end, module.base + segment.p_vaddr + segment.p_memsz);
        }
    }
}

std::string demangled(const char* symbol) {
    int status = 0;
    char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = text == nullptr ? symbol : text;
    free(text);
    return name;
}

// The variables in shared memory, from the symbols in the object.
std::vector<Variable> sharedVariables(const char* image) {
    std::vector<Variable> variables;
    auto header = reinterpret_cast<const ElfW(Ehdr)*>(image);
    auto sections = reinterpret_cast<const ElfW(Shdr)*>(image + header->e_shoff);
    for (int i = 0; i < header->e_shnum; ++i) {
        const auto& section = sections[i];
        if (section.sh_type != SHT_SYMTAB) {
            continue;
        }
        auto symbols = reinterpret_cast<const ElfW(Sym)*>(image + section.sh_offset);
        const char* names = image + sections[section.sh_link].sh_offset;
        for (size_t s = 0; s < section.sh_size / sizeof *symbols; ++s) {
            if ((symbols[s].st_info & 0xf) == STT_TLS && symbols[s].st_size > 0) {
                variables.push_back({symbols[s].st_value, symbols[s].st_size, demangled(names + symbols[s].st_name)});
            }
        }
    }
    return variables;
}

void needArchitecture(const Module& module) {
    auto architecture = static_cast<const int*>(dlsym(module.handle, "sim_architecture"));
    int device = config().capability;
    if (architecture == nullptr || *architecture / 10 != device / 10 || *architecture > device) {
        refuse(NO_BINARY_FOR_GPU, format("%s was compiled for sm_%d, the device is %d.%d", module.program.c_str(),
            architecture == nullptr ? 0 : *architecture, device / 10, device % 10));
    }
}

void closeModule(const Module& module) {
    if (module.handle != nullptr) {
        dlclose(module.handle);
    }
    if (module.file >= 0) {
        close(module.file);
    }
}

bool isPtx(const void* image) {
    return memcmp(image, "//", 2) == 0;
}

Module* loadPtx(const char* text) {
    auto module = std::make_unique<Module>();
    try {
        module->code = ptx::load(text);
    } catch (const ptx::Error& error) {
        refuse(INVALID_IMAGE, error.what());
    }
    module->program = ptx::title(*module->code);
    if (ptx::target(*module->code) > config().capability) {
        refuse(NO_BINARY_FOR_GPU, format("%s is PTX for sm_%d", module->program.c_str(), ptx::target(*module->code)));
    }
    modules.insert(module.get());
    return module.release();
}

Kernel* ptxKernel(Module* module, const char* name) {
    const ptx::Kernel* code = ptx::find(*module->code, name);
    if (code == nullptr) {
        refuse(NOT_FOUND, format("no kernel %s in %s", name, module->program.c_str()));
    }
    const ptx::KernelInfo& info = ptx::info(*code);
    return new Kernel{module, std::string(name) + " (" + module->program + ")", nullptr, info.parameters.data(),
        static_cast<int>(info.parameters.size()), info.mostThreads, USUAL_SHARED, code};
}

}  // namespace

Module* loadModule(const void* image) {
    if (isPtx(image)) {
        return loadPtx(static_cast<const char*>(image));
    }
    size_t bytes = imageBytes(image);
    auto module = std::make_unique<Module>();
    module->file = memfd_create("kernel", MFD_CLOEXEC);
    writeAll(module->file, static_cast<const char*>(image), bytes);
    module->handle = dlopen(format("/proc/self/fd/%d", module->file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module->handle == nullptr) {
        std::string reason = dlerror();
        closeModule(*module);
        refuse(INVALID_IMAGE, "the program cannot be loaded: " + reason);
    }
    auto program = static_cast<const char*>(dlsym(module->handle, "sim_program"));
    module->program = program == nullptr ? "" : program;
    try {
        needArchitecture(*module);
    } catch (...) {
        closeModule(*module);
        throw;
    }
    readLayout(*module);
    module->shared = sharedVariables(static_cast<const char*>(image));
    modules.insert(module.get());
    return module.release();
}

void unloadModule(Module* module) {
    if (modules.erase(module) == 0) {
        refuse(INVALID_HANDLE, "no module, or one that was unloaded");
    }
    for (auto& [name, kernel] : module->kernels) {
        kernels.erase(kernel.get());
    }
    closeModule(*module);
    delete module;
}

Kernel* kernelOf(Module* module, const char* name) {
    if (modules.count(module) == 0) {
        refuse(INVALID_HANDLE, "no module, or one that was unloaded");
    }
    auto& kernel = module->kernels[name];
    if (kernel == nullptr && module->code != nullptr) {
        kernel.reset(ptxKernel(module, name));
        kernels.insert(kernel.get());
    } else if (kernel == nullptr) {
        std::string symbol = std::string("sim_kernel_") + name;
        auto entry = static_cast<const KernelEntry*>(dlsym(module->handle, symbol.c_str()));
        if (entry == nullptr) {
            refuse(NOT_FOUND, format("no kernel %s in %s", name, module->program.c_str()));
        }
        kernel.reset(new Kernel{module, std::string(name) + " (" + module->program + ")", entry->call, entry->sizes,
            entry->parameters, entry->mostThreads, USUAL_SHARED, nullptr});
        kernels.insert(kernel.get());
    }
    return kernel.get();
}

Kernel* checkedKernel(void* handle) {
    auto kernel = static_cast<Kernel*>(handle);
    if (kernels.count(kernel) == 0) {
        refuse(INVALID_HANDLE, "no kernel, or one whose module was unloaded");
    }
    return kernel;
}

// Shared variables are compiled as thread-local variables, so the loader knows their addresses.
StaticShared staticShared(const Kernel& kernel) {
    if (kernel.module->sharedBytes == 0) {
        return {0, 0};
    }
    struct {
        unsigned long module;
        unsigned long offset;
    } index{0, 0};
    size_t number = 0;
    dlinfo(kernel.module->handle, RTLD_DI_TLS_MODID, &number);
    index.module = number;
    return {reinterpret_cast<uintptr_t>(__tls_get_addr(&index)), kernel.module->sharedBytes};
}

size_t staticSharedBytes(const Kernel& kernel) {
    return kernel.code != nullptr ? ptx::info(*kernel.code).staticShared : kernel.module->sharedBytes;
}

std::string staticSharedName(const Kernel& kernel, size_t offset) {
    for (const Variable& variable : kernel.module->shared) {
        if (offset - variable.offset < variable.bytes) {
            return format("byte %zu of %s in static shared memory", offset - variable.offset, variable.name.c_str());
        }
    }
    return format("byte %zu of the static shared memory", offset);
}

bool inModule(const Kernel& kernel, uintptr_t address) {
    return address >= kernel.module->base && address < kernel.module->end;
}

Place placeOf(const Kernel& kernel, const void* programCounter, std::string& file) {
    const Module& module = *kernel.module;
    uintptr_t offset = reinterpret_cast<uintptr_t>(programCounter) - module.base - 1;
    std::string command = format("addr2line -s -i -e /proc/%d/fd/%d %#zx 2>/dev/null", getpid(), module.file, offset);
    file = "unknown line";
    int line = 0;
    FILE* frames = popen(command.c_str(), "r");
    char text[512];
    // From the innermost function outwards, up to the first that does not belong to the simulation.
    while (frames != nullptr && fgets(text, sizeof text, frames) != nullptr) {
        char* colon = strrchr(text, ':');
        if (colon == nullptr || text[0] == '?') {
            continue;
        }
        *colon = 0;
        file = text;
        line = atoi(colon + 1);
        if (file != "ptx.cuh" && file.rfind("sim_", 0) != 0) {
            break;
        }
    }
    if (frames != nullptr) {
        pclose(frames);
    }
    return {file.c_str(), line};
}

}  // namespace sim
