package org.isobar.config.keys;

/**
 * The tutorial's two data loaders. On a GPU, {@code dali} normalizes there and copies a batch while the one before is
 * worked on; {@code pytorch} normalizes on the host and waits for each copy. On a CPU both are the same.
 */
public enum DataLoaderConfig { PYTORCH, DALI }
