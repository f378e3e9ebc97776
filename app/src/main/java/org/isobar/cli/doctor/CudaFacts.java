package org.isobar.cli.doctor;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.driver.CudaVersion;
import org.isobar.backend.cuda.driver.DriverInfo;
import org.isobar.backend.cuda.driver.GpuInfo;
import org.isobar.backend.cuda.driver.LibraryInfo;
import org.isobar.backend.cuda.kernels.KernelCache;
import org.isobar.cli.print.FactTable;
import org.isobar.fault.UserException;

/** Prints the GPUs, the driver and the CUDA libraries of this machine. */
final class CudaFacts {
    private CudaFacts() { }

    static void print(CudaReport report, Map<String, String> environment, FactTable facts) {
        facts.line("NVIDIA driver", driver(report));
        int number = 0;
        for (GpuInfo gpu : report.gpus()) {
            facts.line("GPU " + number++, gpu.name() + ", compute capability " + gpu.computeCapability() + ", "
                + FactTable.gibibytes(gpu.bytes()) + ", " + gpu.free().map(free -> FactTable.gibibytes(free)
                    + " of it free").orElse("free: unknown without NVML"));
        }
        if (report.gpus().isEmpty()) {
            facts.line("GPUs", "none");
        }
        facts.line("Kernel cache", kernelCache(environment));
        facts.heading("Libraries of CUDA " + CudaVersion.NEEDED);
        facts.table(report.libraries().stream().map(CudaFacts::row).toList());
    }

    /** The directory, and whether it is writable. It is created if it does not exist. */
    private static String kernelCache(Map<String, String> environment) {
        List<String> warnings = new ArrayList<>();
        try {
            return KernelCache.open(environment, warnings::add).directory().map(directory -> directory
                    + (Files.isWritable(directory) ? ", writable" : " cannot be written: kernels are compiled at each "
                        + "start; set ISOBAR_KERNEL_CACHE to another directory"))
                .orElseGet(warnings::getFirst);
        } catch (UserException unsafe) {
            return unsafe.getMessage();
        }
    }

    /** Release and CUDA version of the driver, or "none". */
    static String driver(CudaReport report) {
        return report.driver().map(CudaFacts::driver).orElse("none");
    }

    private static String driver(DriverInfo driver) {
        return driver.release().orElse("of unknown release") + ", runs CUDA " + driver.cuda() + " and older"
            + driver.failure().map(failure -> "; it does not start: " + failure).orElse("");
    }

    private static List<String> row(LibraryInfo library) {
        CudaComponent component = library.component();
        String state = switch (library.state()) {
            case FOUND -> "found";
            case WRONG -> "wrong version";
            case MISSING -> "missing";
        };
        String role = switch (component.role()) {
            case NEEDED, SEVERAL_GPUS -> "needed for ";
            case USEFUL -> "optional, for ";
        };
        return List.of(component.fileName(), state, library.version().orElse("-"), role + component.purpose(),
            library.file().map(Path::toString).orElse(""));
    }
}
