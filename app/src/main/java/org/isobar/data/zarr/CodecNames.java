package org.isobar.data.zarr;

import java.util.List;
import java.util.Optional;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.data.zarr.Scratch.Format;

/** Codecs by the names that metadata have for them. */
final class CodecNames {
    /** What a message says about codecs that are not known. */
    static final String ADVICE = "Write the store again with the codec blosc, zstd, lz4, gzip or zlib, or with none.";
    private static final String NUMCODECS = "numcodecs.";

    private CodecNames() { }

    /**
     * A codec from bytes to bytes; empty if it is not known.
     *
     * @param name          its name, in version 3 perhaps behind {@code numcodecs.}
     * @param configuration its settings
     */
    static Optional<ByteCodec> of(String name, JsonNode configuration) {
        String plain = name.startsWith(NUMCODECS) ? name.substring(NUMCODECS.length()) : name;
        return Optional.ofNullable(switch (plain) {
            case "blosc" -> new BloscCodec();
            case "zstd" -> new BlockCodec(Format.ZSTD);
            case "lz4" -> new BlockCodec(Format.LZ4);
            case "gzip" -> new DeflateCodec(true);
            case "zlib" -> new DeflateCodec(false);
            case "crc32c" -> name.equals("crc32c") ? new Crc32cCodec() : null; // numcodecs' has the sum in front
            case "shuffle" -> {
                int bytes = configuration.path("elementsize").asInt(4);
                yield bytes < 1 || bytes > Byte.MAX_VALUE ? null : new ShuffleCodec(bytes);
            }
            default -> null;
        });
    }

    /** Name of a codec with the part of its settings that says most: {@code blosc lz4}. */
    static String label(String name, JsonNode configuration) {
        String inner = configuration.path("cname").asText("");
        return inner.isEmpty() ? name : name + " " + inner;
    }

    /** Why chunks with a codec that is not known are not read. */
    static String refusal(String name) {
        return (name.equals("sharding_indexed") ? "its shards are in shards, or are transposed"
            : "its codec '" + name + "' is not known") + ". " + ADVICE;
    }

    /** The refusal of a chain of codecs: the first of its codecs, or of its length; null if it can be decoded. */
    static String refusal(String first, List<ByteCodec> codecs) {
        boolean isSimple = codecs.stream().filter(codec -> codec.added().isEmpty()).count() <= 1;
        return first != null || isSimple ? first : "it is compressed twice. " + ADVICE;
    }
}
