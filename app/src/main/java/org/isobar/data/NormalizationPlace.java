package org.isobar.data;

/** Where fields become numbers of mean 0 and deviation 1, channel by channel. The values are the same to rounding. */
public enum NormalizationPlace {
    /** On the host, by the threads that read. The host waits until a batch has been copied. */
    ON_HOST,
    /** On the device. What lies in the host's memory is copied as it is, while the device works on the batch before. */
    ON_DEVICE
}
