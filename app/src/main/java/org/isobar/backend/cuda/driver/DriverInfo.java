package org.isobar.backend.cuda.driver;

import java.util.Optional;

/**
 * The installed NVIDIA driver.
 *
 * @param release such as "580.65.06", where it is known
 * @param cuda    latest CUDA version that the driver supports
 * @param failure error of {@code cuInit}, if it fails
 */
public record DriverInfo(Optional<String> release, CudaVersion cuda, Optional<String> failure) { }
