package org.isobar.device.ops;

/** Whether an operation overwrites its output or adds to it. */
public enum WriteMode {
    /** The output is replaced; its former contents are never read. */
    OVERWRITE,
    /** The result is added to the output. */
    ADD
}
