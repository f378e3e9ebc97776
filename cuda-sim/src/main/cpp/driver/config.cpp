#include "config.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace sim {
namespace {

std::string setting(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value != nullptr && *value != 0 ? value : otherwise;
}

size_t bytes(const std::string& text) {
    char* end = nullptr;
    double number = strtod(text.c_str(), &end);
    switch (*end) {
        case 'G': case 'g': return static_cast<size_t>(std::ldexp(number, 30));
        case 'M': case 'm': return static_cast<size_t>(std::ldexp(number, 20));
        case 'K': case 'k': return static_cast<size_t>(std::ldexp(number, 10));
        default: return static_cast<size_t>(number);
    }
}

// As CUDA does it: the list ends at the first entry that is no device.
std::vector<int> visible(int count) {
    std::vector<int> devices;
    const char* list = getenv("CUDA_VISIBLE_DEVICES");
    if (list == nullptr) {
        for (int i = 0; i < count; ++i) {
            devices.push_back(i);
        }
        return devices;
    }
    std::istringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
        char* end = nullptr;
        long device = strtol(entry.c_str(), &end, 10);
        if (end == entry.c_str() || device < 0 || device >= count) {
            break;
        }
        devices.push_back(static_cast<int>(device));
    }
    return devices;
}

Config read() {
    Config c;
    c.devices = visible(atoi(setting("ISOBAR_SIM_GPUS", "1").c_str()));
    c.memory = bytes(setting("ISOBAR_SIM_MEMORY", "4G"));
    c.capability = static_cast<int>(std::lround(10 * atof(setting("ISOBAR_SIM_CAPABILITY", "9.0").c_str())));
    c.driver = atoi(setting("ISOBAR_SIM_DRIVER", "13010").c_str());
    c.seed = strtoul(setting("ISOBAR_SIM_SEED", "1").c_str(), nullptr, 10);
    c.counts = setting("ISOBAR_SIM_COUNTS", "");
    std::string fail = setting("ISOBAR_SIM_FAIL", "");
    if (fail.rfind("launch:", 0) == 0) {
        std::string which = fail.substr(strlen("launch:"));
        size_t colon = which.find(':');
        c.failingKernel = colon == std::string::npos ? "" : which.substr(0, colon);
        c.failingLaunch = atol(which.c_str() + (colon == std::string::npos ? 0 : colon + 1));
    }
    if (fail.rfind("alloc:", 0) == 0) {
        c.failingAllocation = atol(fail.c_str() + strlen("alloc:"));
    }
    return c;
}

}  // namespace

const Config& config() {
    static const Config* read_once = new Config(read());
    return *read_once;
}

int mostShared() {
    int capability = config().capability;
    bool small = capability == 86 || capability == 89 || capability >= 120;
    return small ? 99 << 10 : capability < 90 ? 163 << 10 : MOST_SHARED;
}

}  // namespace sim
