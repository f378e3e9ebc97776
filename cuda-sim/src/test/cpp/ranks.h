// Several processes, a rank and a device each, that have an NCCL communicator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine.h"
#include "nccl/nccl.h"

extern "C" {
int ncclGetVersion(int*);
int ncclGetUniqueId(nccl::UniqueId*);
int ncclCommInitRank(void**, int, nccl::UniqueId, int);
int ncclCommFinalize(void*);
int ncclCommDestroy(void*);
int ncclCommAbort(void*);
int ncclCommGetAsyncError(void*, int*);
const char* ncclGetErrorString(int);
const char* ncclGetLastError(void*);
int ncclCommCount(void*, int*);
int ncclCommCuDevice(void*, int*);
int ncclCommUserRank(void*, int*);
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*);
int ncclReduce(const void*, void*, size_t, int, int, int, void*, void*);
int ncclReduceScatter(const void*, void*, size_t, int, int, void*, void*);
int ncclAllGather(const void*, void*, size_t, int, void*, void*);
int ncclBroadcast(const void*, void*, size_t, int, int, void*, void*);
int ncclBcast(void*, size_t, int, int, void*, void*);
int ncclSend(const void*, size_t, int, int, void*, void*);
int ncclRecv(void*, size_t, int, int, void*, void*);
int ncclGroupStart();
int ncclGroupEnd();
int ncclRedOpCreatePreMulSum(int*, void*, int, int, void*);
int ncclRedOpDestroy(int, void*);
}

namespace test {

struct Rank {
    int number;
    int size;
    nccl::UniqueId id;
    void* stream = nullptr;
    void* comm = nullptr;
};

// Ends the test if a call of NCCL failed, with its error's text.
void needNccl(int result, const char* call);

// Runs the body in a process for each rank, and waits for all. cuInit must not have been called before. If processes
// fail, the test ends with the status of the first of them.
void processes(int size, const std::function<void(Rank&)>& body);

// Like processes(), with a device, a stream and a communicator, which is destroyed at the end.
void ranks(int size, const std::function<void(Rank&)>& body);

// Creates the device context, stream and communicator of a rank.
void connect(Rank& rank, int device);

// Converts numbers to their bytes in memory, and back.
std::vector<char> encode(int type, const std::vector<double>& values);
std::vector<double> decode(int type, const std::vector<char>& bytes);

void* place(Address address, size_t offset = 0);

}  // namespace test
