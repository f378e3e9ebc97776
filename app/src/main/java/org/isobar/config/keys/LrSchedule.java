package org.isobar.config.keys;

/** The learning rate over a run: half a cosine down to zero, or constant. */
public enum LrSchedule { COSINE, NONE }
