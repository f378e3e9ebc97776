// The devices that the environment configures, as the driver and NVML report them.
#include <cstring>
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

constexpr int MAJOR = 75;  // of CUdevice_attribute
constexpr int MINOR = 76;

int count() {
    int devices = 0;
    need(cuDeviceGetCount(&devices), "cuDeviceGetCount");
    return devices;
}

int attribute(int number) {
    int value = 0;
    need(cuDeviceGetAttribute(&value, number, 0), "cuDeviceGetAttribute");
    return value;
}

void fourDevices() {
    start(3);
    check(count() == 4, "four devices");
    Address there = allocate(64);
    need(cuMemsetD32Async(there, 7, 16, nullptr), "cuMemsetD32Async");
    check(download<int>(there, 16)[15] == 7, "the last device works");
}

// CUDA_VISIBLE_DEVICES renumbers the devices; their bus identifiers stay.
void twoVisibleDevices() {
    start();
    check(count() == 2, "two devices");
    char bus[32];
    need(cuDeviceGetPCIBusId(bus, sizeof bus, 0), "cuDeviceGetPCIBusId");
    check(strcmp(bus, "0000:04:00.0") == 0, "the first is the machine's last");
    unsigned machine = 0;
    need(nvmlInit_v2() + nvmlDeviceGetCount_v2(&machine), "nvmlDeviceGetCount");
    check(machine == 4, "NVML sees all");
    void* byBus = nullptr;
    void* byIndex = nullptr;
    need(nvmlDeviceGetHandleByPciBusId_v2("00000000:04:00.0", &byBus), "nvmlDeviceGetHandleByPciBusId");
    need(nvmlDeviceGetHandleByIndex_v2(3, &byIndex), "nvmlDeviceGetHandleByIndex");
    check(byBus == byIndex, "NVML counts as the machine does");
}

void memory() {
    start();
    constexpr size_t TAKEN = 300 << 20;
    unsigned long long before[3];  // nvmlMemory_t: total, free, used
    unsigned long long after[3];
    void* device = nullptr;
    need(nvmlInit_v2() + nvmlDeviceGetHandleByIndex_v2(0, &device), "nvmlDeviceGetHandleByIndex");
    need(nvmlDeviceGetMemoryInfo(device, before), "nvmlDeviceGetMemoryInfo");
    allocate(TAKEN);
    need(nvmlDeviceGetMemoryInfo(device, after), "nvmlDeviceGetMemoryInfo");
    size_t total = 0;
    size_t unused = 0;
    need(cuMemGetInfo_v2(&unused, &total), "cuMemGetInfo");
    check(total == size_t{2} << 30 && after[0] == total, "the device has 2 GiB");
    check(unused == total - TAKEN && after[2] - before[2] == TAKEN, "what is allocated is used");
    check(after[1] + after[2] == total && before[2] > 0, "NVML counts the driver's own");
}

// A kernel of the first device reaches into the second one's memory.
void anotherDevice(Program program) {
    start(1);
    Address there = upload(std::vector<float>(64, 1.0f));
    start(0);
    Address here = upload(std::vector<float>(64, 1.0f));
    void* kernel = compile(R"(extern "C" __global__ void fill(float* y) { y[threadIdx.x] = 2; })", "fill");
    run(kernel, 1, 64, 0, program == WRONG ? there : here);
}

void capability() {
    start();
    check(attribute(MAJOR) == 8 && attribute(MINOR) == 6, "compute capability 8.6");
    int version = 0;
    need(cuDriverGetVersion(&version), "cuDriverGetVersion");
    check(version == 12080, "CUDA 12.8");
}

void ownDefaults() {
    start();
    size_t bytes = 0;
    need(cuDeviceTotalMem_v2(&bytes, 0), "cuDeviceTotalMem");
    check(count() == 1 && bytes == size_t{4} << 30, "one device of 4 GiB");
    check(attribute(MAJOR) == 9 && attribute(MINOR) == 0, "compute capability 9.0");
}

}  // namespace

void addDevices(Suite& suite) {
    suite.clean("one device", ownDefaults);
    suite.clean("four devices", fourDevices, {{"ISOBAR_SIM_GPUS", "4"}});
    suite.clean("two visible devices of four", twoVisibleDevices,
        {{"ISOBAR_SIM_GPUS", "4"}, {"CUDA_VISIBLE_DEVICES", "3,1"}});
    suite.caught("no visible device", {"cuInit: 100", "CUDA_VISIBLE_DEVICES leaves none"}, [] { start(); },
        {{"CUDA_VISIBLE_DEVICES", ""}});
    suite.clean("memory of 2 GiB", memory, {{"ISOBAR_SIM_MEMORY", "2G"}});
    suite.planted("memory of another device", {"kernel fill", "thread (0, 0, 0)", "memory of device 1 on device 0"},
        anotherDevice, {{"ISOBAR_SIM_GPUS", "2"}});
    suite.clean("another capability and driver", capability,
        {{"ISOBAR_SIM_CAPABILITY", "8.6"}, {"ISOBAR_SIM_DRIVER", "12080"}});
}

}  // namespace test
