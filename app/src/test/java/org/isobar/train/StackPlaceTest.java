package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A place that tests inject faults at exists, or is refused at once. */
class StackPlaceTest {
    @ParameterizedTest
    @ValueSource(strings = {"train.Trainer.stride", "train.Coach.step", "Trainer.step", "step",
        "train.Trainer.step vit.VisionTransformer.forwards"})
    void aMissingMethodIsNamed(String methods) {
        String message = assertThrows(IllegalArgumentException.class, () -> StackPlace.of(methods)).getMessage();
        assertTrue(message.contains(methods.substring(methods.indexOf(' ') + 1) + ": "), message);
    }

    @Test
    void allMethodsMustBeOnTheStack() {
        String here = "train.StackPlaceTest.allMethodsMustBeOnTheStack";
        assertTrue(StackPlace.of(here).isOn(Thread.currentThread()));
        assertFalse(StackPlace.of(here + " train.Trainer.step").isOn(Thread.currentThread()));
        assertEquals(here + " train.Trainer.step", StackPlace.of(here + " train.Trainer.step").toString());
    }
}
