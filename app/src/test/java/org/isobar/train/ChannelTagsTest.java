package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.isobar.data.channels.ChannelChoice;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Names of channels that are not chosen by name. */
class ChannelTagsTest {
    @ParameterizedTest
    @CsvSource({"u10 v10 t2m, RMSE(u10m)/valid, 2, 2m temperature", "u10 v10, RMSE(u10m)/valid, 0, u10",
        "z500 t850, RMSE(z500)/valid, 0, z500", "t2m u10, RMSE(t2m)/valid, 0, 2m temperature"})
    void theTutorialsNamesAreThoseOfItsVariables(String names, String tag, int picture, String heading) {
        ChannelTags tags = ChannelTags.of(ChannelChoice.FIRST, List.of(names.split(" ")));
        assertEquals(List.of(tag, picture, heading), List.of(tags.rmse(0), tags.picture(), tags.heading()));
    }
}
