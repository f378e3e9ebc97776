package org.isobar.config;

/** Automatic mixed precision: the type of matrix products, while master weights stay in fp32. */
public enum AmpMode { NONE, FP16, BF16 }
