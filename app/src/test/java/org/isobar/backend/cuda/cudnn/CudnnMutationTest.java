package org.isobar.backend.cuda.cudnn;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxReset;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_DATA_TYPE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_IS_BY_VALUE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_STRIDES;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_UNIQUE_ID;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_WORKSPACE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_TENSOR_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_BFLOAT16;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_DOUBLE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_DOUBLE;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.stream.Stream;

import org.isobar.backend.cuda.cudnn.CudnnTrial.Places;
import org.isobar.backend.cuda.cudnn.SdpaPlan.Engines;
import org.isobar.backend.cuda.driver.CudaException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Mistakes planted in the calls of the cuDNN engine. The simulated library refuses each with a message that names it;
 * mistakes that only give other numbers give other numbers.
 */
@Isolated("It resets the context of the process.")
@Tag("simulated")
class CudnnMutationTest {
    private static List<Float> right;

    /** A mistake, with a part of the message that it is refused with; empty: it gives other results. */
    private record Mistake(String name, String message, BiFunction<CudnnCalls, Places[], CudnnCalls>
        plant) { }

    @BeforeAll
    static void runTheRightCalls() {
        right = CudnnTrial.run(calls -> calls, new Places[1], Engines.DETERMINISTIC);
    }

    /** Changes the values of an attribute before they are set. */
    private static Mistake values(String name, String message, int attribute, SdpaTensor tensor,
        BiConsumer<MemorySegment, Places> change) {
        return new Mistake(name, message, (calls, places) -> new ForwardingCudnn(calls) {
            @Override
            public int set(MemorySegment descriptor, int set, int type, long count, MemorySegment values) {
                if (set == attribute && (tensor == null || describes(tensor))) {
                    change.accept(values, places[0]);
                }
                return super.set(descriptor, set, type, count, values);
            }
        });
    }

    private static void swap(MemorySegment values, int i, int j) {
        long first = values.getAtIndex(JAVA_LONG, i);
        values.setAtIndex(JAVA_LONG, i, values.getAtIndex(JAVA_LONG, j));
        values.setAtIndex(JAVA_LONG, j, first);
    }

    private static void point(MemorySegment values, SdpaTensor tensor, long address) {
        values.setAtIndex(ADDRESS, tensor.ordinal(), MemorySegment.ofAddress(address));
    }

    private static List<Mistake> wrongValues() {
        return List.of(
            values("keys read as if they were not packed with values", "not the natural logarithm",
                CUDNN_ATTR_TENSOR_STRIDES, SdpaTensor.K,
                (values, places) -> values.setAtIndex(JAVA_LONG, 2, values.getAtIndex(JAVA_LONG, 2) / 2)),
            values("strides of heads and tokens swapped", "overlaps itself", CUDNN_ATTR_TENSOR_STRIDES, SdpaTensor.O,
                (values, places) -> swap(values, 1, 2)),
            values("heads that overlap", "overlaps itself", CUDNN_ATTR_TENSOR_STRIDES, SdpaTensor.Q,
                (values, places) -> values.setAtIndex(JAVA_LONG, 1, 8)),
            values("ids of keys and values swapped", "", CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, null,
                (values, places) -> swap(values, 1, 2)),
            values("an id twice in a variant pack", "an id twice", CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, null,
                (values, places) -> values.setAtIndex(JAVA_LONG, 1, SdpaTensor.Q.id())),
            values("an id of no tensor", "the id 99", CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, null,
                (values, places) -> values.setAtIndex(JAVA_LONG, 1, 99)),
            values("two tensors with one id", "the id 2 of V", CUDNN_ATTR_TENSOR_UNIQUE_ID, SdpaTensor.V,
                (values, places) -> values.setAtIndex(JAVA_LONG, 0, SdpaTensor.K.id())),
            values("a scale by value in double precision", "is data type 1", CUDNN_ATTR_TENSOR_DATA_TYPE,
                SdpaTensor.SCALE, (values, places) -> values.set(JAVA_INT, 0, CUDNN_DATA_DOUBLE)),
            values("values in another type", "V is of data type 9, not 2", CUDNN_ATTR_TENSOR_DATA_TYPE, SdpaTensor.V,
                (values, places) -> values.set(JAVA_INT, 0, CUDNN_DATA_BFLOAT16)),
            values("more keys than values", "V is 2 x 2 x 6 x 16", CUDNN_ATTR_TENSOR_DIMENSIONS, SdpaTensor.V,
                (values, places) -> values.setAtIndex(JAVA_LONG, 2, 6)),
            values("an alignment that values lack", "V at", CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, SdpaTensor.V,
                (values, places) -> values.setAtIndex(JAVA_LONG, 0, 1024)),
            values("a workspace that is too small", "bytes of workspace, which are not at",
                CUDNN_ATTR_VARIANT_PACK_WORKSPACE, null, (values, places) -> values.setAtIndex(ADDRESS, 0,
                    MemorySegment.ofAddress(places.workspace() + (1 << 14) - 256))),
            values("a scale in device memory", "SCALE is passed by value and in device memory",
                CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, null,
                (values, places) -> point(values, SdpaTensor.SCALE, places.q())),
            values("an output over an input", "overlap", CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, null,
                (values, places) -> point(values, SdpaTensor.O, places.q())),
            values("statistics in base 2", "not the natural logarithm", CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, null,
                (values, places) -> {
                    if (values.byteSize() > SdpaTensor.D_O.ordinal() * ADDRESS.byteSize()) {
                        point(values, SdpaTensor.STATISTICS, places.otherStatistics());
                    }
                }));
    }

    /** A mistake in how the descriptor of one kind is completed. */
    private static Mistake completion(String name, String message, int kind, WrongCompletion instead) {
        return new Mistake(name, message, (calls, places) -> new ForwardingCudnn(calls) {
            @Override
            public int complete(MemorySegment descriptor) {
                return kind() == kind ? instead.complete(calls, descriptor) : super.complete(descriptor);
            }
        });
    }

    /** Completes a descriptor in a wrong way. */
    private interface WrongCompletion {
        int complete(CudnnCalls calls, MemorySegment descriptor);
    }

    private static List<Mistake> wrongOrders() {
        return List.of(
            completion("a tensor that is not finalized", "NOT_FINALIZED", CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                (calls, descriptor) -> 0),
            completion("a tensor finalized twice", "finalized already", CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                (calls, descriptor) -> calls.complete(descriptor) + calls.complete(descriptor)),
            completion("an attribute after finalize", "NOT_INITIALIZED", CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                (calls, descriptor) -> calls.complete(descriptor) + calls.set(descriptor,
                    CUDNN_ATTR_TENSOR_IS_BY_VALUE, 2, 1, descriptor)),
            completion("a heuristic that is not finalized", "is not finalized", CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                (calls, descriptor) -> 0),
            completion("a variant pack that is not finalized", "NOT_FINALIZED", CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                (calls, descriptor) -> 0));
    }

    private static List<Mistake> wrongKinds() {
        return List.of(
            new Mistake("an attribute of a wrong type", "ATTRIBUTE_TYPE",
                (calls, places) -> new ForwardingCudnn(calls) {
                    @Override
                    public int set(MemorySegment descriptor, int attribute, int type, long count,
                        MemorySegment values) {
                        return super.set(descriptor, attribute,
                            attribute == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT ? CUDNN_TYPE_DOUBLE : type, count, values);
                    }
                }),
            new Mistake("three strides for four extents", "4 extents and 3 strides",
                (calls, places) -> new ForwardingCudnn(calls) {
                    @Override
                    public int set(MemorySegment descriptor, int attribute, int type, long count,
                        MemorySegment values) {
                        return super.set(descriptor, attribute, type,
                            attribute == CUDNN_ATTR_TENSOR_STRIDES ? 3 : count, values);
                    }
                }));
    }

    private static List<Mistake> wrongCalls() {
        return List.of(
            omitted("no scale", "attribute 2805", CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC),
            omitted("a scale that is not by value", "SCALE is not passed by value", CUDNN_ATTR_TENSOR_IS_BY_VALUE),
            omitted("no workspace", "attribute 1003", CUDNN_ATTR_VARIANT_PACK_WORKSPACE),
            new Mistake("another stream", "missing event", (calls, places) -> new ForwardingCudnn(calls) {
                @Override
                public int setStream(MemorySegment handle, MemorySegment stream) {
                    return 0;
                }
            }),
            new Mistake("an engine that is not deterministic", "", (calls, places) -> new ForwardingCudnn(calls) {
                @Override
                public int read(MemorySegment descriptor, int attribute, int type, long requested, MemorySegment count,
                    MemorySegment values) {
                    int status = super.read(descriptor, attribute, type, requested, count, values);
                    if (attribute == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
                        count.set(JAVA_LONG, 0, 0);
                    }
                    return status;
                }
            }),
            new Mistake("a variant pack destroyed before it is used", "no handle, plan or variant pack",
                (calls, places) -> new ForwardingCudnn(calls) {
                    @Override
                    public int execute(MemorySegment handle, MemorySegment plan, MemorySegment pack) {
                        destroy(pack);
                        return super.execute(handle, plan, pack);
                    }
                }));
    }

    private static Mistake omitted(String name, String message, int attribute) {
        return new Mistake(name, message, (calls, places) -> new ForwardingCudnn(calls) {
            @Override
            public int set(MemorySegment descriptor, int set, int type, long count, MemorySegment values) {
                return set == attribute ? 0 : super.set(descriptor, set, type, count, values);
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> eachMistakeIsFound() {
        List<Mistake> mistakes = new ArrayList<>(wrongValues());
        mistakes.addAll(wrongOrders());
        mistakes.addAll(wrongKinds());
        mistakes.addAll(wrongCalls());
        assertTrue(mistakes.size() >= 15);
        return mistakes.stream().map(mistake -> dynamicTest(mistake.name(), () -> {
            Places[] places = new Places[1];
            if (mistake.message().isEmpty()) {
                assertFalse(right.equals(outcome(mistake, places)), "the same results");
            } else {
                String refused =
                    assertThrows(CudaException.class, () -> outcome(mistake, places)).getMessage();
                assertTrue(refused.contains(mistake.message()), refused);
            }
        }));
    }

    private static List<Float> outcome(Mistake mistake, Places[] places) {
        try {
            return CudnnTrial.run(calls -> mistake.plant().apply(calls, places), places, Engines.DETERMINISTIC);
        } finally {
            cuDevicePrimaryCtxReset(0); // the next mistake needs a working device
        }
    }

    /** With all engines, the first that cuDNN proposes is taken, whose bits differ from call to call. */
    @Test
    void engineChoiceFollowsDeterminism() {
        assertTrue(right.equals(CudnnTrial.run(calls -> calls, new Places[1], Engines.DETERMINISTIC)));
        assertFalse(right.equals(CudnnTrial.run(calls -> calls, new Places[1], Engines.ANY)));
    }
}
