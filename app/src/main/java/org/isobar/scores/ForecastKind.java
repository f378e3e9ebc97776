package org.isobar.scores;

import java.util.Locale;

/** What makes a forecast that is scored. */
public enum ForecastKind {
    /** The model that is evaluated. */
    MODEL,
    /** The initial fields at every lead. */
    PERSISTENCE,
    /** The climatology of the valid time. */
    CLIMATOLOGY,
    /** A second model, which the first is compared with; files have only the difference. */
    SECOND_MODEL;

    /** The name in files: lower case. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
