package org.isobar.data;

/**
 * Where images are normalized to mean 0 and standard deviation 1, channel by channel. Results agree to rounding.
 */
public enum NormalizationPlace {
    /** On the host, by the prefetching threads. The host waits for the copy of a batch to the device. */
    ON_HOST,
    /** On the device. Stored values are copied to the device while it works on the previous batch. */
    ON_DEVICE
}
