package org.isobar.device;

/** What an operation does with the former contents of its output. */
public enum Write {
    /** The output is replaced; its former contents are never read. */
    OVERWRITE,
    /** The result is added to the output. */
    ADD
}
