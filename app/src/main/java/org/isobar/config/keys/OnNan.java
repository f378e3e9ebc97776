package org.isobar.config.keys;

/** What becomes of a step whose loss is not finite ({@code --on_nan}). */
public enum OnNan {
    /** It moves nothing, and the run ends. */
    STOP,
    /** It moves nothing, and the run goes on. */
    SKIP
}
