package org.isobar.config.yaml;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;

/** Writes YAML, with Jackson. {@link YamlFile} reads it. */
public final class YamlText {
    private static final YAMLMapper MAPPER = new YAMLMapper(YAMLFactory.builder()
        .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER, YAMLGenerator.Feature.SPLIT_LINES)
        .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN).build());

    private YamlText() { }

    /** The document of nested maps and lists of null, booleans, numbers and texts. */
    public static String of(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException impossible) {
            throw new IllegalArgumentException(impossible);
        }
    }
}
