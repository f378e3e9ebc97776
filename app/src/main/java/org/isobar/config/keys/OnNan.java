package org.isobar.config.keys;

/** What to do after a step whose loss is not finite ({@code --on_nan}). Such a step updates no weights. */
public enum OnNan {
    /** End the run. */
    STOP,
    /** Continue with the next step. */
    SKIP
}
