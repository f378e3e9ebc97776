package org.isobar.backend.cuda.driver;

/** A version of CUDA, as drivers and runtimes report it. */
public record CudaVersion(int major, int minor) implements Comparable<CudaVersion> {
    /** The version that Isobar is built for. Drivers of later versions run it too. */
    public static final CudaVersion NEEDED = new CudaVersion(13, 0);

    /** 13.0 of 13000. */
    static CudaVersion of(int packed) {
        return new CudaVersion(packed / 1000, packed % 1000 / 10);
    }

    @Override
    public int compareTo(CudaVersion other) {
        return Integer.compare(major * 1000 + minor, other.major * 1000 + other.minor);
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
