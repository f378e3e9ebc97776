package org.isobar.bench.suite;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What the benchmark of the CPU is run with.
 *
 * @param isobar   the command that starts this program
 * @param scripts  the directory of PyTorch's and h5py's halves
 * @param python   what the user says Python is
 * @param noBf16   why this machine does not train in bf16; empty if it does
 * @param sections what is done
 * @param budget   time that all of it may take
 */
public record SuiteSetup(List<String> isobar, Path scripts, Optional<String> python, Optional<String> noBf16,
    SuiteSize extent, Set<SuiteSection> sections, Duration budget) { }
