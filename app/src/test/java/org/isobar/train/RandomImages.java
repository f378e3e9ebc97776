package org.isobar.train;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.random.Philox;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;

/** Images of normal numbers, which a name determines. */
final class RandomImages {
    private RandomImages() { }

    /** A batch for the given model: (B, C, H, W). */
    static Tensor of(VitConfig model, int batch, String name, Device device, Arena arena) {
        Tensor tensor = arena.f32(batch, model.inChannels(), model.height(), model.width());
        Philox.Key key = Philox.Key.of(3, name);
        float[] values = new float[Math.toIntExact(tensor.elements())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Philox.normal(key, i);
        }
        device.upload(tensor, MemorySegment.ofArray(values));
        return tensor;
    }
}
