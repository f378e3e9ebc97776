package org.isobar.device.ops;

/** What an operation does with the former contents of its output. */
public enum WriteMode {
    /** The output is replaced; its former contents are never read. */
    OVERWRITE,
    /** The result is added to the output. */
    ADD
}
