/** What a device does in which time: a training step and its operations, ceilings, and a report beside PyTorch. */
package org.isobar.bench;
