package org.isobar.config.keys;

/** How the learning rate changes over a run: half a cosine down to zero, or not at all. */
public enum LrSchedule { COSINE, NONE }
