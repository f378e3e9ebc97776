package org.isobar.backend;

import java.util.OptionalInt;
import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.fault.UserException;

/** What can compute, as {@code --device} names it. */
public enum Backend {
    /** The fastest that there is; the log says which and why. */
    AUTO,
    /** This machine's processor. */
    CPU,
    /** An NVIDIA GPU. */
    CUDA;

    /** The one that opened a device. */
    public static Backend of(Device device) {
        return device instanceof CpuDevice ? CPU : CUDA;
    }

    /**
     * Opens the device.
     *
     * @param threads compute threads of a CPU, all cores where absent
     * @param log     told what was chosen, and why where there was a choice
     * @throws UserException if there is no such device here
     */
    public Device open(OptionalInt threads, Consumer<String> log) {
        if (this == CUDA) {
            throw new UserException("--device cuda: this version has no CUDA back end; use --device cpu or auto");
        }
        CpuDevice device = new CpuDevice(threads.orElse(Runtime.getRuntime().availableProcessors()));
        log.accept("Device: " + device.description()
            + (this == AUTO ? " (chosen by auto: this version has no other back end)" : ""));
        return device;
    }
}
