package org.isobar.backend.cuda.cudnn;

import java.lang.foreign.MemorySegment;

/**
 * The functions of {@code libcudnn.so.9} that attention needs, with the arguments of the C interface. Those that return
 * an {@code int} return a {@code cudnnStatus_t}.
 */
interface CudnnCalls {
    /** {@code cudnnGetVersion}: 91900 for 9.19.0. */
    long version();

    /** The text of a status, followed by what cuDNN says about this thread's last error. */
    String text(int status);

    /** {@code cudnnCreate}. */
    int createHandle(MemorySegment made);

    /** {@code cudnnDestroy}. */
    int destroyHandle(MemorySegment handle);

    /** {@code cudnnSetStream}. */
    int setStream(MemorySegment handle, MemorySegment stream);

    /** {@code cudnnBackendCreateDescriptor}. */
    int create(int type, MemorySegment made);

    /** {@code cudnnBackendDestroyDescriptor}. */
    int destroy(MemorySegment descriptor);

    /** {@code cudnnBackendSetAttribute}. */
    int set(MemorySegment descriptor, int attribute, int type, long count, MemorySegment values);

    /** {@code cudnnBackendGetAttribute}. */
    int read(MemorySegment descriptor, int attribute, int type, long requested, MemorySegment count,
        MemorySegment values);

    /** {@code cudnnBackendFinalize}. */
    int complete(MemorySegment descriptor);

    /** {@code cudnnBackendExecute}. */
    int execute(MemorySegment handle, MemorySegment plan, MemorySegment pack);
}
