#include "suite.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "machine.h"

namespace test {
namespace {

constexpr unsigned MOST_SECONDS = 120;
constexpr int MOST_STATUS = 255;
constexpr const char* PREFIX = "cuda-sim: ";

struct Outcome {
    int status;
    std::string output;
};

[[noreturn]] void runHere(const Case& test, int output) {
    alarm(MOST_SECONDS);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (const char* name : {"ISOBAR_SIM_GPUS", "ISOBAR_SIM_MEMORY", "ISOBAR_SIM_CAPABILITY", "ISOBAR_SIM_DRIVER",
            "ISOBAR_SIM_FAIL", "ISOBAR_SIM_NCCL", "ISOBAR_SIM_NCCL_TIMEOUT", "NCCL_MULTI_RANK_GPU_ENABLE",
            "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"}) {
        unsetenv(name);
    }
    for (const auto& [name, value] : test.environment) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    test.body();
    fflush(nullptr);
    _exit(0);
}

Outcome runApart(const Case& test) {
    int ends[2];
    if (pipe(ends) != 0) {
        return {-1, "no pipe"};
    }
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        runHere(test, ends[1]);
    }
    close(ends[1]);
    std::string output;
    char part[4096];
    for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;) {
        output.append(part, static_cast<size_t>(count));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return {status, output};
}

// Why the outcome differs from the expected one; empty if it does not.
std::string wrong(const Case& test, const Outcome& outcome) {
    if (WIFSIGNALED(outcome.status)) {
        return "ended by signal " + std::to_string(WTERMSIG(outcome.status));
    }
    int code = WEXITSTATUS(outcome.status);
    if (test.expected.empty()) {
        bool complaint = outcome.output.find(PREFIX) != std::string::npos;
        return code == 0 && !complaint ? "" : "a correct program failed, with status " + std::to_string(code);
    }
    if (code != REFUSED) {
        return "no call was refused: status " + std::to_string(code);
    }
    for (const std::string& text : test.expected) {
        if (outcome.output.find(text) == std::string::npos) {
            return "the message lacks \"" + text + "\"";
        }
    }
    return outcome.output.find(PREFIX) != std::string::npos ? "" : "nothing was printed";
}

// Runs every `step`-th case from `first` on and prints each failure; returns the number of failures.
int runShare(const std::vector<const Case*>& cases, size_t first, size_t step, bool aloud) {
    int failures = 0;
    for (size_t i = first; i < cases.size(); i += step) {
        const Case& test = *cases[i];
        Outcome outcome = runApart(test);
        std::string why = wrong(test, outcome);
        if (!why.empty()) {
            ++failures;
            printf("FAILED  %s\n        %s; it said:\n%s\n", test.name.c_str(), why.c_str(), outcome.output.c_str());
        } else if (aloud) {
            printf("ok      %s\n%s", test.name.c_str(), outcome.output.c_str());
        }
    }
    return failures;
}

}  // namespace

void Suite::clean(const std::string& name, std::function<void()> body, const Environment& environment) {
    cases.push_back({name, {}, std::move(body), environment});
}

void Suite::caught(const std::string& name, const Texts& expected, std::function<void()> body,
    const Environment& environment) {
    cases.push_back({name, expected, std::move(body), environment});
}

void Suite::planted(const std::string& name, const Texts& expected, std::function<void(Program)> body,
    const Environment& environment) {
    caught(name + ", planted", expected, [body] { body(WRONG); }, environment);
    clean(name + ", its twin", [body] { body(RIGHT); }, environment);
}

int Suite::run(const std::string& only) const {
    std::vector<const Case*> chosen;
    for (const Case& test : cases) {
        if (test.name.find(only) != std::string::npos) {
            chosen.push_back(&test);
        }
    }
    size_t workers = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    fflush(nullptr);
    std::vector<pid_t> children;
    for (size_t first = 0; first < workers; ++first) {
        pid_t child = fork();
        if (child == 0) {
            int failures = runShare(chosen, first, workers, !only.empty());
            fflush(nullptr);
            _exit(std::min(failures, MOST_STATUS));
        }
        children.push_back(child);
    }
    int failures = 0;
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        failures += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    printf("Tests of the simulated machine: %zu run, %d failed.\n", chosen.size(), failures);
    return failures + (chosen.empty() ? 1 : 0);
}

}  // namespace test

int main(int count, char** arguments) {
    test::Suite suite;
    test::addMemory(suite);
    test::addLaunches(suite);
    test::addStreams(suite);
    test::addWaiting(suite);
    test::addGraphs(suite);
    test::addCaptures(suite);
    test::addSharedMemory(suite);
    test::addBlas(suite);
    test::addBlasResults(suite);
    test::addResults(suite);
    test::addDevices(suite);
    test::addNccl(suite);
    test::addNcclFailures(suite);
    test::addNcclCalls(suite);
    test::addNcclResults(suite);
    test::addNcclGroups(suite);
    test::addPtx(suite);
    return suite.run(count > 1 ? arguments[1] : "") == 0 ? 0 : 1;
}
