package org.isobar.train.step;

/** How the operations of a training step are issued to the device. The results are bit-identical. */
public enum StepLaunch {
    /** The host issues each operation. */
    EAGER,
    /** The step is captured as a graph once and launched as a whole; only without dropout. */
    GRAPH
}
