package org.isobar.train;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Ways to spoil a run's input, before it or under way. */
final class Spoiling {
    private Spoiling() { }

    /** What is done to a run. */
    interface Mischief {
        /** Does it. */
        void happen() throws IOException;
    }

    /** Writes a number to a year file of preset tiny's data, whose fields end with the file. */
    static void poke(Path year, int time, int channel, int row, int column, float value) throws IOException {
        long frame = 20L * 32 * 64;
        long element = ((time * 20L + channel) * 32 + row) * 64 + column;
        try (RandomAccessFile file = new RandomAccessFile(year.toFile(), "rw")) {
            file.seek(file.length() - Float.BYTES * (TinyRun.STEPS * frame - element));
            file.writeInt(Integer.reverseBytes(Float.floatToIntBits(value)));
        }
    }

    /** Writes a whole frame of the channels of the preset, channel by channel. */
    static void flood(Path year, int time, float... values) throws IOException {
        for (int channel = 0; channel < values.length; channel++) {
            for (int row = 0; row < 32; row++) {
                for (int column = 0; column < 64; column++) {
                    poke(year, time, channel, row, column, values[channel]);
                }
            }
        }
    }

    /** A screen on which, once it has shown a text, something happens. */
    static OutputStream after(String text, OutputStream screen, Mischief mischief) {
        return new FilterOutputStream(screen) {
            private boolean done;

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                out.write(bytes, offset, length);
                if (!done && new String(bytes, offset, length, StandardCharsets.UTF_8).contains(text)) {
                    done = true;
                    mischief.happen();
                }
            }
        };
    }
}
