package org.isobar.bench.suite;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Settings of the CPU benchmark.
 *
 * @param isobar   command that starts this program
 * @param scripts  directory of the scripts for PyTorch and h5py
 * @param python   Python interpreter that the user named
 * @param noBf16   why this machine cannot train in bf16; empty if it can
 * @param size     how much is measured
 * @param sections sections to run
 * @param budget   time limit of the whole benchmark
 */
public record SuiteSetup(List<String> isobar, Path scripts, Optional<String> python, Optional<String> noBf16,
    SuiteSize size, Set<SuiteSection> sections, Duration budget) { }
