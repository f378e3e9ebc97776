package org.isobar.plan;

/** The program whose run is planned. */
public enum Program {
    /** This program. */
    ISOBAR,
    /** The tutorial's PyTorch program. */
    TUTORIAL
}
