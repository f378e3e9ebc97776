package org.isobar.data.zarr;

/** The bytes of a chunk cannot be decoded. The message says what is wrong with them, and not where they are. */
final class DamagedChunk extends Exception {
    private static final long serialVersionUID = 1L;

    DamagedChunk(String finding) {
        super(finding);
    }

    DamagedChunk(String finding, Throwable cause) {
        super(finding, cause);
    }
}
