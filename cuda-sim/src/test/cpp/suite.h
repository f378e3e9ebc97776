// The tests of the simulated machine. Each runs in a process of its own, because an error of the device is sticky.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace test {

using Environment = std::map<std::string, std::string>;
using Texts = std::vector<std::string>;

// The correct program, or the one with a planted bug.
enum Program { RIGHT = 0, WRONG = 1 };

struct Case {
    std::string name;
    Texts expected;  // in the message of the refused call; empty: no call is refused
    std::function<void()> body;
    Environment environment;
};

class Suite {
public:
    // A program that runs without errors.
    void clean(const std::string& name, std::function<void()> body, const Environment& environment = {});

    // A program that the machine refuses, with a message that has all these texts.
    void caught(const std::string& name, const Texts& expected, std::function<void()> body,
        const Environment& environment = {});

    // A program with a planted bug, which is caught, and the correct program, which runs without errors.
    void planted(const std::string& name, const Texts& expected, std::function<void(Program)> body,
        const Environment& environment = {});

    // Runs the tests with this text in their names, and returns how many failed. With a text, the output of all tests
    // is printed; without one, only that of failed tests.
    int run(const std::string& only) const;

private:
    std::vector<Case> cases;
};

// The groups of tests, a file each.
void addMemory(Suite& suite);
void addLaunches(Suite& suite);
void addStreams(Suite& suite);
void addWaiting(Suite& suite);
void addGraphs(Suite& suite);
void addCaptures(Suite& suite);
void addSharedMemory(Suite& suite);
void addBlas(Suite& suite);
void addBlasResults(Suite& suite);
void addResults(Suite& suite);
void addDevices(Suite& suite);
void addNccl(Suite& suite);
void addNcclFailures(Suite& suite);
void addNcclCalls(Suite& suite);
void addNcclResults(Suite& suite);
void addNcclGroups(Suite& suite);
void addPtx(Suite& suite);

}  // namespace test
